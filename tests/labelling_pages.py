"""Labelling pages of a table of short texts, with a client of each in place of a browser."""

import json
import signal
import threading
import urllib.request
from collections.abc import Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from starlette.testclient import TestClient

import cordial_ppl as cp
from cordial_ppl.evaluation import synthetic
from cordial_ppl.label.advice import Adviser, Goal
from cordial_ppl.label.answer_log import AnswerLog
from cordial_ppl.label.assignment import Assignment
from cordial_ppl.label.server import Page
from cordial_ppl.tables import read_readings, write_table

TOKEN, PORT = "a-secret", 8123
ADDRESS = f"http://127.0.0.1:{PORT}"
TEXTS = 80
OPTIONS = [str(k) for k in range(1, 6)]
REVIEWS = synthetic.reviews(TEXTS, seed=3)
TRUTH = {f"text {i}": OPTIONS[label] for i, label in enumerate(REVIEWS.labels)}


def write_judged(path, texts=None):
    """Write ratings of some texts, with their words."""
    words = texts or [f"the words of {i}" for i in range(TEXTS)]
    cells = {"item_id": [*TRUTH], "answer": words, "prompt": ["Say something."] * TEXTS}
    cells["model"] = [("oak", "elm")[i % 2] for i in range(TEXTS)]
    cells["rating"] = [int(each) + 1 for each in REVIEWS.logits.argmax(axis=1)]
    write_table(path, cells)
    return path


class Opened(NamedTuple):
    """A page with its parts, and the client that a browser would be."""

    page: Page
    client: TestClient

    def post(self, path: str, **body: Any) -> Any:
        """Send what the page would."""
        return self.client.post(path, json=body)

    def label(self, label: str | None = None, **more: Any) -> dict[str, Any]:
        """Label the text that is shown, by what people think of it if nothing else is said."""
        item = self.state["text"]["item"]
        body = {"item": item, "event": "label", "label": label or TRUTH[item]} | more
        return self.post("/answer", **body).json()

    @property
    def state(self) -> dict[str, Any]:
        """What the page shows."""
        return self.client.get("/state").json()

    @property
    def log(self) -> AnswerLog:
        """The answers."""
        return self.page.work.log


class Silent(Adviser):
    """An adviser that says nothing."""

    def tell(self, number: int) -> None:
        """Do nothing."""


@contextmanager
def open_page(folder, name="labels.jsonl", who="ann", *, number=20, texts=None, goal=None):
    """Open a page as `cordial label` does."""
    path = write_judged(folder / "judged.csv", texts)
    table = read_readings(path, options=OPTIONS, apart=("answer", "prompt"))
    log = AnswerLog(folder / name, who, table.scale.options)
    shown = {each: table.columns.collect(each).to_series() for each in ("answer", "prompt")}
    rows = cp.plan(table.logits, TEXTS, options=table.scale).rows
    work = Assignment(table, log, rows, number, shown)
    adviser = (Adviser if goal else Silent)(table, folder / name, goal or Goal())
    page = Page(work, adviser)
    client = TestClient(
        page.make_app(TOKEN, PORT),
        base_url=ADDRESS,
        headers={"X-Token": TOKEN, "Origin": ADDRESS},
    )
    try:
        yield Opened(page, client)
    finally:
        log.close()


def answer_by_thread(monkeypatch: Any, number: int, truth: Mapping[str, Any]) -> None:
    """Let a thread answer so many texts once `cordial label` says its address, then end it."""
    from cordial_ppl.cli import labelling_commands

    def ask(address: str, path: str, body: Any = None) -> Any:
        base, _, token = address.partition("/?token=")
        headers = {"X-Token": token, "Origin": base, "Content-Type": "application/json"}
        sent = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(base + path, sent, headers)) as reply:
            return json.load(reply)

    def work(address: str) -> None:
        try:
            state = ask(address, "/state")
            for _ in range(number):
                item = state["text"]["item"]
                body = {"item": item, "event": "label", "label": str(truth[item])}
                state = ask(address, "/answer", body)
        finally:
            signal.raise_signal(signal.SIGINT)

    def say(address: str) -> None:
        threading.Thread(target=work, args=(address,)).start()

    monkeypatch.setattr(labelling_commands, "_say_address", say)
