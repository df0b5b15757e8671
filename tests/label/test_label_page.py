"""The labelling page's protocol: what is asked, answered, written, and refused."""

import errno
import json
import os
import random
from contextlib import closing
from itertools import product

import numpy as np
import pytest
from labelling_pages import ADDRESS, PORT, TEXTS, TOKEN, TRUTH, open_page

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import CordialWarning, FileError
from cordial_ppl.label.answer_log import AnswerLog
from cordial_ppl.label.assignment import Assignment
from cordial_ppl.tables import read_labels, read_readings, write_table

SCALE = Scale.of(["1", "2", "3", "4", "5"], 5)


def read_file(path):
    """Return the labels of a file, as all commands read them."""
    table = read_labels(path, SCALE)
    return dict(zip(table.item_ids, SCALE.decode(table.labels), strict=True))


@pytest.fixture
def opened(tmp_path):
    with open_page(tmp_path) as opened:
        yield opened


def test_texts_come_in_the_order_of_the_plan(opened):
    shown = []
    for _ in range(20):
        shown.append(opened.state["text"]["item"])
        opened.label()
    assert shown == opened.page.work.items and opened.state["text"] is None
    assert opened.state["counts"]["answered"] == 20
    assert read_file(opened.log.path) == {item: TRUTH[item] for item in shown}
    assert opened.post("/more").json()["counts"]["target"] == 30
    assert opened.state["text"]["item"] not in shown


def test_every_answer_is_on_disk_before_the_next_text(opened):
    """Label, what cannot be rated, undo and a note: a row each, the last of a text counts."""
    path = opened.log.path
    first = opened.state["text"]["item"]
    opened.label("5", note="fluent, wrong")
    assert json.loads(path.read_text())["label_note"] == "fluent, wrong"
    assert opened.state["text"]["item"] != first
    reply = opened.post("/undo", row=1).json()
    assert reply["text"]["item"] == first and reply["last"] is None
    second = opened.label("2")["text"]["item"]
    opened.post("/answer", item=second, event="unratable")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["label_event"] for row in rows] == ["label", "undo", "label", "unratable"]
    assert [row["label_row"] for row in rows] == [1, 2, 3, 4]
    assert {row["annotator"] for row in rows} == {"ann"} and all(row["label_time"] for row in rows)
    with pytest.warns(match=r"skipped 1 of 2 rows \(no label\)"):
        assert read_file(path) == {first: "2"}


def test_what_is_left_for_later_comes_last(opened):
    first = opened.state["text"]["item"]
    opened.post("/answer", item=first, event="skip")
    for _ in range(19):
        assert opened.state["text"]["item"] != first
        opened.label()
    assert opened.state["text"]["item"] == first
    # To undo the label is to leave it for later again.
    opened.label()
    assert opened.state["text"] is None
    opened.post("/undo", row=21)
    assert opened.state["text"]["item"] == first


def test_two_windows_lose_no_answer(opened):
    """The same answer again is one; another is refused with the first, and changes nothing."""
    item = opened.state["text"]["item"]
    opened.label("4")
    assert opened.post("/answer", item=item, event="label", label="4").status_code == 200
    assert opened.log.count == 1
    reply = opened.post("/answer", item=item, event="label", label="1")
    assert reply.status_code == 409 and "(4)." in reply.json()["problem"]
    opened.label("2")
    # The other window still shows the first answer as the last one.
    assert opened.post("/undo", row=1).status_code == 409
    assert read_file(opened.log.path)[item] == "4" and opened.log.count == 2


@pytest.mark.parametrize("left", ['{"item_id": "text 1", "lab', "", '{"item_id": "\\u00e'])
def test_a_killed_server_goes_on_with_all_answers(tmp_path, left):
    with open_page(tmp_path) as opened:
        for _ in range(3):
            opened.label()
        shown, whole = opened.state, opened.log.path.read_text()
    path = tmp_path / "labels.jsonl"
    path.write_text(whole + left)
    with open_page(tmp_path) as opened:
        assert {**opened.state, "answers": 3} == shown and path.read_text() == whole
        opened.label()
    assert len(read_file(path)) == 4
    assert path.read_text().startswith(whole)


def test_a_last_row_without_its_end_is_kept(tmp_path):
    with open_page(tmp_path) as opened:
        opened.label()
        opened.label()
    path = tmp_path / "labels.jsonl"
    path.write_text(path.read_text().rstrip("\n"))
    with open_page(tmp_path) as opened:
        opened.label()
    assert len(read_file(path)) == 3


class Full:
    """A file on a disk that has room for so many bytes more."""

    def __init__(self, file, room):
        self.file, self.room = file, room

    def write(self, line):
        """Write what there is room for."""
        written, self.room = line[: self.room], max(0, self.room - len(line))
        self.file.write(written)
        if len(written) < len(line) and not written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return len(written)

    def __getattr__(self, name):
        return getattr(self.file, name)


@pytest.mark.parametrize("replaced", [True, False])
def test_a_file_that_another_program_changed_takes_no_answer(tmp_path, replaced):
    with open_page(tmp_path) as opened:
        opened.label()
        item, path = opened.state["text"]["item"], opened.log.path
        changed = path.read_bytes().replace(b'"label"', b'"label" ')
        if replaced:
            path.rename(tmp_path / "before.jsonl")
        path.write_bytes(changed)
        reply = opened.post("/answer", item=item, event="label", label="3")
        assert reply.status_code == 507 and "changed" in reply.json()["problem"]
        assert path.read_bytes() == changed
    with open_page(tmp_path) as opened:
        opened.label("3")
    assert read_file(path)[item] == "3" and len(read_file(path)) == 2


def test_a_file_that_was_put_there_meanwhile_is_not_removed(tmp_path):
    with open_page(tmp_path) as opened:
        opened.log.path.rename(tmp_path / "empty.jsonl")
        opened.log.path.write_text("of another person")
    assert opened.log.path.read_text() == "of another person"


@pytest.mark.parametrize("room", [0, 20])
def test_a_full_disk_is_told_and_nothing_is_half_written(opened, room):
    opened.label()
    whole, item = opened.log.path.read_bytes(), opened.state["text"]["item"]
    opened.log._file = Full(opened.log._file, room)
    reply = opened.post("/answer", item=item, event="label", label="3")
    assert reply.status_code == 507 and "No space left" in reply.json()["problem"]
    assert reply.json()["text"]["item"] == item, "the page does not go on"
    assert opened.log.path.read_bytes() == whole
    opened.log._file = opened.log._file.file
    opened.label("3")
    assert read_file(opened.log.path)[item] == "3"


def test_two_people_have_a_file_each_that_are_one_table(tmp_path):
    with open_page(tmp_path) as ann, open_page(tmp_path, "bob.jsonl", "bob") as bob:
        for opened in (ann, bob):
            for _ in range(5):
                opened.label("3")
        assert ann.page.work.items == bob.page.work.items
        with pytest.raises(FileError, match="already open in .cordial label"), open_page(tmp_path):
            pass
    with pytest.raises(FileError, match="'ann', not 'bob'"), open_page(tmp_path, who="bob"):
        pass
    with open_page(tmp_path, "new.jsonl") as opened:
        with (
            pytest.raises(FileError, match="already open in .cordial label"),
            open_page(tmp_path, "new.jsonl"),
        ):
            pass
        opened.label()
    assert len(read_file(tmp_path / "new.jsonl")) == 1
    with open_page(tmp_path, "empty.jsonl"):
        pass
    assert not (tmp_path / "empty.jsonl").exists()
    both = tmp_path / "both.jsonl"
    both.write_text((tmp_path / "labels.jsonl").read_text() + (tmp_path / "bob.jsonl").read_text())
    table = read_labels(both, SCALE)
    assert table.annotators == ["ann"] * 5 + ["bob"] * 5 and table.several


@pytest.mark.parametrize(
    "line",
    [
        '{"a": 1}',
        "[1]",
        "item_id,label",
        "no end",
        '{"item_id": "Käse", "label": "3", "annotator": "ann", "label_event": "label"}',
        '{"item_id": "text 1", "label": "9", "annotator": "ann", "label_event": "label", '
        '"label_row": 1}',
        '{"item_id": [1], "label": "3", "annotator": "ann", "label_event": "label", '
        '"label_row": 1}',
    ],
)
def test_a_file_of_something_else_is_left_alone(tmp_path, line):
    path = tmp_path / "labels.jsonl"
    content = line + "\n" * (line != "no end")
    path.write_text(content, "latin-1")  # As an old editor does.
    with pytest.raises(FileError, match="Name a different file"), open_page(tmp_path):
        pass
    assert path.read_text("latin-1") == content


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 10))]
)
def test_the_file_equals_what_was_clicked(tmp_path, seed):
    """Ten people answer, undo, leave for later and come back, in any order."""
    rng, clicked, stack = random.Random(seed), {}, []
    for _ in range(4):
        with open_page(tmp_path, number=30) as opened:
            for _ in range(25):
                if stack and rng.random() < 0.25:
                    item, before = stack.pop()
                    opened.post("/undo", row=opened.state["last"]["label_row"])
                    clicked[item] = before
                elif text := opened.state["text"]:
                    item, event = text["item"], rng.choice(["label"] * 4 + ["skip", "unratable"])
                    label = rng.choice("12345") if event == "label" else None
                    stack.append((item, clicked.get(item)))
                    clicked[item] = label
                    opened.post("/answer", item=item, event=event, label=label)
    wanted = {item: label for item, label in clicked.items() if label}
    with pytest.warns(match=r"of 30 rows \(no label\)"):
        assert read_file(tmp_path / "labels.jsonl") == wanted


def test_the_judge_is_shown_of_answered_texts_alone(opened):
    item = opened.state["text"]["item"]
    assert opened.client.get("/judge", params={"item": item}).status_code == 409
    assert "rating" not in json.dumps(opened.state)
    opened.label()
    shown = opened.client.get("/judge", params={"item": item}).json()
    assert shown["option"] in SCALE.options and shown["share"] > 0.9
    assert opened.client.get("/judge", params={"item": "nobody"}).status_code == 409


def test_a_text_with_tied_options_is_no_hard_rating(tmp_path):
    """What is stated of one text is told by all of them."""
    probs = [[0.6, 0.1, 0.1, 0.1, 0.1], [0.1, 0.4, 0.3, 0.1, 0.1], [""] * 5]
    cells = {f"p_{k + 1}": [row[k] for row in probs] for k in range(5)}
    write_table(tmp_path / "r.csv", {"item_id": ["a", "b", "c"], **cells})
    with pytest.warns(CordialWarning, match="no reading for 1 of 3"):
        table = read_readings(tmp_path / "r.csv")
    with closing(AnswerLog(tmp_path / "l.jsonl", "ann", table.scale.options)) as log:
        work = Assignment(table, log, np.arange(3), 3, {})
        for item in "abc":
            work.answer(item, "label", "2", "")
        shown = [work.reveal(item) for item in "abc"]
    assert [one.get("share") for one in shown] == [pytest.approx(0.6), pytest.approx(0.4), None]


PATHS = ["/", "/state", "/advice", "/judge?item=text+1", "/answer", "/undo", "/more", "/nothing"]


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Token": ""},
        {"X-Token": TOKEN[:-1]},
        {"X-Token": "é".encode()},
        {"Host": "evil.example"},
        {"Host": f"evil.example:{PORT}"},
        {"Host": "127.0.0.1"},
        {"Host": f"127.0.0.1:{PORT + 1}"},
    ],
)
def test_without_token_or_under_another_name_there_is_nothing(opened, headers):
    for method, path in product(("GET", "POST"), PATHS):
        sent = {"Origin": ADDRESS} | headers
        reply = opened.client.request(method, path, headers=sent, json={})
        assert (reply.status_code, reply.content) == (403, b""), (method, path)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://127.0.0.1:{PORT + 1}"},
        {"Origin": ADDRESS, "Sec-Fetch-Site": "cross-site"},
        {"Origin": ADDRESS, "Sec-Fetch-Site": "same-site"},
        {"Origin": ADDRESS, "Content-Type": "text/plain"},
        {"Origin": ADDRESS, "Content-Length": "9999999"},
    ],
)
def test_only_the_page_itself_writes(opened, headers):
    body = json.dumps({"item": opened.state["text"]["item"], "event": "label", "label": "1"})
    reply = opened.client.post(
        "/answer", content=body, headers={"Content-Type": "application/json"} | headers
    )
    assert (reply.status_code, reply.content) == (403, b"")
    assert opened.log.count == 0


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"item": "text 1", "event": "undo"},
        {"item": "text 1", "event": "label"},
        {"item": "text 1", "event": "label", "label": "6"},
        {"item": "text 1", "event": "skip", "label": "1"},
        {"item": "nobody", "event": "label", "label": "1"},
        {"item": "text 1", "event": "label", "label": "1", "annotator": "eve"},
    ],
)
def test_what_is_no_answer_is_not_written(opened, body):
    assert opened.post("/answer", **body).status_code == 400
    assert opened.log.path.read_bytes() == b""


def test_a_page_may_load_and_run_nothing_but_its_own(opened):
    replies = [opened.client.get("/", params={"token": TOKEN}, headers={"X-Token": ""})] * 2
    replies[1] = opened.client.get("/")
    policies = [reply.headers["content-security-policy"] for reply in replies]
    assert policies[0] != policies[1], "a nonce is used once"
    for reply, policy in zip(replies, policies, strict=True):
        assert reply.status_code == 200
        nonce = policy.partition("'nonce-")[2].partition("'")[0]
        assert reply.text.count(f'nonce="{nonce}"') == 2 and "{nonce}" not in reply.text
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert "http" not in reply.text.replace("http-equiv", "")
        for sink in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("):
            assert sink not in reply.text


HOSTILE = "<script>alert(1)</script> [x](javascript:alert(1)) ![i](http://evil.example/a.png) <b>b"


def test_texts_are_sent_as_text(tmp_path):
    with open_page(tmp_path, texts=[HOSTILE] * TEXTS) as opened:
        text = opened.state["text"]
    assert text["plain"] == HOSTILE and text["tree"] == [["p", [HOSTILE]]]
    assert text["context"] == [["prompt", "Say something."]]
