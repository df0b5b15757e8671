"""`cordial label`, its server answered by a thread in place of a browser."""

import builtins
import json
import signal
import socket
import threading
import urllib.request

import pytest
from labelling_pages import TRUTH, write_judged

from cordial_ppl.cli import labelling_commands
from cordial_ppl.tables import read_columns

ARGUMENTS = "judged.csv", "--text", "Answer", "--options", "1,2,3,4,5"


@pytest.fixture
def answering(monkeypatch):
    """Answer so many texts once the server says its address, then end it by Ctrl-C."""

    def answer(number):
        def ask(address, path, body=None):
            base, _, token = address.partition("/?token=")
            headers = {"X-Token": token, "Origin": base, "Content-Type": "application/json"}
            sent = None if body is None else json.dumps(body).encode()
            request = urllib.request.Request(base + path, sent, headers)
            with urllib.request.urlopen(request, timeout=60) as reply:
                return json.load(reply)

        def work(address):
            try:
                state = ask(address, "/state")
                for _ in range(number):
                    item = state["text"]["item"]
                    body = {"item": item, "event": "label", "label": TRUTH[item]}
                    state = ask(address, "/answer", body)
            finally:
                signal.raise_signal(signal.SIGINT)

        def say(address):
            threading.Thread(target=work, args=(address,)).start()

        monkeypatch.setattr(labelling_commands, "_say_address", say)

    return answer


def test_labels_are_for_other_commands(cordial, as_json, answering, tmp_path):
    """Texts are labelled in two runs, and the systems compared by their labels."""
    write_judged(tmp_path / "judged.csv")
    label = "label", *ARGUMENTS, "--by", "model", "-n", 24, "--annotator", "ann"
    answering(10)
    first = as_json(*label)
    assert (first["labels"], first["answered"], first["target"]) == (10, 10, 24)
    answering(14)
    assert "24 labels by ann" in cordial(*label).stderr
    planned = cordial(
        "plan", *ARGUMENTS[:1], *ARGUMENTS[3:], "--by", "model", "-n", 24, "-o", "p.csv"
    )
    assert planned.stdout
    assert read_columns("labels.jsonl").cells["item_id"] == read_columns("p.csv").cells["item_id"]
    compared = as_json("compare", "judged.csv", "labels.jsonl", *ARGUMENTS[3:], "--by", "model")
    assert compared["verdict"]["labels"] == 24 and not compared["warnings"]


def test_another_column_is_offered(refused, tmp_path):
    write_judged(tmp_path / "judged.csv")
    refused(
        "'reply'|'answer'|--text COLUMN", "label", "judged.csv", "--text", "reply", *ARGUMENTS[3:]
    )


def test_a_taken_port_and_a_wrong_goal_are_refused(refused, tmp_path):
    write_judged(tmp_path / "judged.csv")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused("cannot be used", "label", *ARGUMENTS, "--port", taken.getsockname()[1])
    refused("positive", "label", *ARGUMENTS, "--within", 0)
    refused("a quantity, a sign", "label", *ARGUMENTS, "--require", "good")
    refused(".jsonl", "label", *ARGUMENTS, "-o", "labels.csv")


def test_without_its_packages_it_says_how_to_install_them(refused, monkeypatch, tmp_path):
    write_judged(tmp_path / "judged.csv")
    real = builtins.__import__

    def fail(name, *rest):
        if name.partition(".")[0] == "uvicorn":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.delitem(__import__("sys").modules, "uvicorn", raising=False)
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)
    refused('pip install "cordial-ppl[label]"', "label", *ARGUMENTS)
