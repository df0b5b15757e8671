"""`cordial read`: from a log to tables for the other commands, and what it says of bad ones."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest
from few_labels import STARS, assert_probabilities
from logs_of_reviews import FILES, LABELS, LOGS, chat

from cordial_ppl.formats import FORMATS
from cordial_ppl.scale import Scale
from cordial_ppl.tables import match_labels, read_labels, read_readings
from cordial_ppl.tables.files import read_columns

OPTIONS = "1,2,3,4,5"
LABELLED = [name for name in FILES if name != "ratings.csv" and name != "vllm.jsonl"]
LABELLED.remove("openai_batch.jsonl")


def cells(path):
    return {name: list(column) for name, column in read_columns(path).cells.items()}


@pytest.mark.parametrize(
    ("name", "ending"),
    [*((name, "csv") for name in FILES), ("inspect.eval", "parquet"), ("samples.jsonl", "jsonl")],
)
def test_what_is_written_can_be_read(cordial, name, ending):
    labels = ("--labels", f"l.{ending}") if name in LABELLED else ()
    result = cordial("read", LOGS / name, "-o", f"r.{ending}", *labels, "--options", OPTIONS)
    form, kind, size = FILES[name]
    assert result.stdout == ""
    assert f"{size} readings of 1, 2, 3, 4, 5 ({form}) in r.{ending}" in result.stderr
    assert "warning" not in result.stderr
    table = read_readings(f"r.{ending}")
    assert (table.kind, table.scale.options, len(table.item_ids)) == (kind, STARS, size)
    if labels:
        found = read_labels(f"l.{ending}", table.scale)
        assert sorted(match_labels(table, found)) == list(range(size))
        assert found.labels.tolist() == [int(LABELS[r]) - 1 for r in list(LABELS)[:size]]


def test_from_a_log_to_calibrated_probabilities(cordial):
    name = "openai_chat.jsonl"
    size = FILES[name][2]
    written = "-o", "r.parquet", "--labels", "l.csv"
    cordial("read", LOGS / name, *written, "--options", OPTIONS)
    cordial("calibrate", "r.parquet", "l.csv", "-o", "o.csv", "--inference", "mode", "-q")
    out = cells("o.csv")
    assert out["item_id"] == list(read_readings("r.parquet").item_ids)
    probs = np.array([out[f"p_{option}"] for option in STARS], float).T
    assert_probabilities(probs, size, 5)
    # The reader is good, and the labels are those that it was calibrated with.
    truth = np.array([int(label) for label in LABELS.values()])[:size]
    assert np.abs(probs @ np.arange(1, 6) - truth).mean() < 1


@pytest.mark.parametrize("name", ["argilla.json", "label_studio.json"])
def test_labels_alone_go_with_readings_from_elsewhere(cordial, name):
    result = cordial("read", LOGS / name, "--labels", "l.csv")
    assert re.fullmatch(r"8 labels \(\S+\) in l.csv\n", result.stderr)
    assert [path.name for path in Path().iterdir()] == ["l.csv"]
    cordial("read", LOGS / "openai_chat.jsonl", "-o", "r.csv", "--options", OPTIONS, "-q")
    found = read_labels("l.csv", Scale(STARS))
    assert len(match_labels(read_readings("r.csv"), found)) == 8


def test_the_page_shows_what_is_shown(cordial):
    log = LOGS / "openai_chat.jsonl"
    result = cordial("read", log, "-o", "r.csv", "--options", OPTIONS, "--explain", 1, "-q")
    page = (LOGS.parent.parent / "docs" / "reading.md").read_text()
    assert f"```\n{result.stdout}```\n" in page
    for form in FORMATS:
        assert f"| `{form}` |" in page


def test_the_report_for_programs(cordial):
    log = LOGS / "openai_chat.jsonl"
    arguments = ("-o", "r.csv", "--labels", "l.csv", "--options", OPTIONS)
    result = cordial("read", log, *arguments, "--json", "--explain", 1)
    found = json.loads(result.stdout)
    assert (found["format"], found["readings"], found["labels"]) == ("openai", 20, 20)
    assert found["floored"] == {"1": 4} and found["unread"] == []
    assert 0.9 < found["share"] < 1
    (parts,) = found["explained"][0]["orders"]
    assert parts["1"] == [] and [token for token, _ in parts["5"]] == ["5", " 5", "Five"]
    arrays = cordial("read", LOGS / "arrays.npz", "-o", "r.csv", "--json")
    assert json.loads(arrays.stdout)["share"] is None


def test_what_deserves_a_look_is_said_even_when_quiet(cordial, log):
    rows = [
        chat({"9": -0.5, "1": -1.2}, item_id="guessed"),
        chat({"4": -0.3}, item_id="lone"),
        chat({"No": -0.1, "5": -7.0, "4": -8.0}, item_id="elsewhere"),
        chat({"I": -0.1}, {" pass": -0.1}, item_id="unread"),
    ]
    options = ",".join(map(str, range(1, 11)))
    result = cordial("read", log(*rows), "-o", "r.csv", "--options", options, "-q")
    for words in (
        "warning: 1 answer that name no option are left out: line 4",
        "warning: 1 text in which the first token had to speak for an option of several",
        "warning: 1 text in which a single option was returned",
    ):
        assert words in result.stderr
    assert cells("r.csv")["item_id"] == ["guessed", "lone", "elsewhere"]
    result = cordial("read", log(rows[2]), "-o", "r.csv", "--options", OPTIONS)
    assert "the options have 0.00 of the probability on average" in result.stderr
    texts = [{"item_id": "a", "samples": ["4", "none"]}]
    result = cordial("read", log(*texts), "-o", "r.csv", "--options", OPTIONS)
    assert "warning: 1 sample that name no option are not counted" in result.stderr


def test_where_answers_stand_is_told_and_prose_is_taken_only_if_asked(cordial, log):
    texts = ["Score: 4", "[[3]]", "2", "5", "It earns a 4.", "[[4]] [[8.5]]", "1. Ok.\nRating: 4"]
    rows = [{"item_id": i, "response": text} for i, text in enumerate(texts)]
    given = ("read", log(*rows), "-o", "r.csv", "--options", OPTIONS, "--from", "samples")
    told = cordial(*given).stderr
    assert '1 in brackets or under a key, 2 after a word such as "Score:", 2 alone' in told
    assert "1 announce something that is not an option and 1 announce nothing" in told
    assert cells("r.csv")["item_id"] == ["0", "1", "2", "3", "6"] and "--guess takes" in told
    told = cordial(*given, "--guess").stderr
    assert "2 alone, 1 guessed from prose" in told and "--guess takes" not in told
    found = json.loads(cordial(*given, "--json").stdout)
    assert found["answers"] == {"named": 2, "marked": 1, "alone": 2, "prose": 1, "off": 1}


@pytest.mark.parametrize(
    ("row", "remedy"),
    [
        ({"choices": [{"message": {"content": "4"}, "logprobs": None}]}, "top_logprobs=20"),
        ({"content": "4", "tokens_predicted": 1}, '"n_probs": 20'),
        ({"outputs": [{"text": "4", "token_ids": [9], "logprobs": None}]}, "SamplingParams"),
        ({"item_id": 1, "score": 4}, None),
    ],
)
def test_answers_without_log_probabilities_are_not_passed_over(cordial, log, row, remedy):
    result = cordial("read", log(row), "-o", "r.csv", "--options", OPTIONS, "-q")
    assert ("the log has no log-probabilities" in result.stderr) == (remedy is not None)
    assert remedy is None or remedy in result.stderr


def test_requests_that_failed_are_counted_and_the_first_are_named(cordial, log):
    failed = [{"custom_id": str(i), "error": {"message": "It expired."}} for i in range(4)]
    good = {"custom_id": "a", "response": {"body": chat({"4": -0.1, "5": -3.0})}}
    result = cordial("read", log(*failed, good), "-o", "r.csv", "--options", OPTIONS, "-q")
    assert result.stderr == (
        "warning: 4 requests without an answer are left out: line 1 (It expired), line 2 (It "
        "expired), line 3 (It expired) and 1 more\n"
    )


def test_letters_for_options_and_a_scale_that_goes_down(cordial, log):
    path = log(chat({"A": -0.2, "B": -2.0, " C": -3.0}, item_id="a", label="fair"))
    spell = ("--spell", "good=A", "--spell", "fair=B", "--spell", "poor=C")
    down = ("--options", "good,fair,poor", "--reverse")
    cordial("read", path, "-o", "r.csv", "--labels", "l.csv", *down, *spell)
    found = cells("r.csv")
    assert list(found) == ["item_id", "logprob_poor", "logprob_fair", "logprob_good"]
    assert [column[0] for column in found.values()] == ["a", "-3.0", "-2.0", "-0.2"]
    assert cells("l.csv") == {"item_id": ["a"], "label": ["fair"]}


def test_one_task_of_several(cordial, log):
    rows = [
        chat({"4": -0.3, "5": -1.5}, item_id="a", task=task, reader=reader)
        for task in ("tone", "style") for reader in ("x", "y")
    ]  # fmt: skip
    path = log(*rows)
    cordial("read", path, "-o", "r.csv", "--options", OPTIONS)
    assert cells("r.csv")["reader"] == ["x", "y", "x", "y"]
    cordial("read", path, "-o", "r.csv", "--options", OPTIONS, "--task", "tone", "--reader", "y")
    assert cells("r.csv")["task"] == ["tone"]


CHAT = (LOGS / "openai_chat.jsonl").read_text()
GOOD = ["-o", "o.csv", "--options", OPTIONS]

BAD = {
    "cut off": (CHAT[:-200], GOOD, "it is not at line 20, column .*cut off there"),
    "mixed": (CHAT + '{"a": 1}\n', GOOD, "line 21: expected a response .*; found a"),
    "not an object": (CHAT + "3\n", GOOD, "line 21 must be a JSON object; found a number"),
    "empty": ("", GOOD, "log.jsonl is empty"),
    "text": ("good\nbad\n", GOOD, "it is not JSON. Say what it is: --from openai, vllm, "),
    "unknown": ('{"a": 1, "b": 2}\n', GOOD, "known by its contents: its first object has a, b"),
    "unknown tokens": (CHAT, [*GOOD[:3], "good,bad"], "none of its 20 answers names an option"),
    "no options": (CHAT, GOOD[:2], "does not say which .*: --options 1,2,3"),
    "labels of another scale": (
        CHAT, ["-o", "o.csv", "--labels", "l.csv", "--options", "1,2,3,4"],
        "line 1: a label must be one of 1, 2, 3, 4; found '5'",
    ),
    "labels alone": (
        (LOGS / "argilla.json").read_text(), GOOD, "labels in it but no readings; leave -o out",
    ),
    "no labels": ('{"item_id": 1, "score": 4}', [*GOOD, "--labels", "l.csv"], "no labels in it"),
    "nothing to write": (CHAT, ["--options", OPTIONS], "say what to write"),
    "one file for both": (CHAT, [*GOOD, "--labels", "o.csv"], "both would be o.csv"),
    "over the log": (CHAT, ["-o", "log.jsonl", "--options", OPTIONS], "would replace the input"),
    "no table": (CHAT, ["-o", "o.txt", "--options", OPTIONS], "must end in .csv"),
    "wrong --from": (CHAT, [*GOOD, "--from", "vllm"], "line 1: expected an output with `outputs`"),
    "no such format": (CHAT, [*GOOD, "--from", "excel"], "a format must be auto or openai"),
    "no such task": (CHAT, [*GOOD, "--task", "tone"], "no reading of 'tone'"),
    "a spelling of nothing": (CHAT, [*GOOD, "--spell", "1"], "--spell must be OPTION=TEXT"),
    "annotations that are none": (
        '[{"id": 13, "data": null, "annotations": [null]}]', ["--labels", "o.csv"],
        "is not as expected of Label Studio's JSON export: labels\\.",
    ),
}  # fmt: skip


def assert_refused(result, folder, kept, message):
    assert result.stdout == ""
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert re.search(message, result.stderr), result.stderr
    assert f"{kept}: {kept}" not in result.stderr
    assert [path.name for path in folder.iterdir()] == [kept]


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_line(cordial, tmp_path, case):
    text, arguments, message = BAD[case]
    Path("log.jsonl").write_text(text)
    result = cordial("read", "log.jsonl", *arguments, status=2)
    assert_refused(result, tmp_path, "log.jsonl", message)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("log.jsonl", bytes(range(128, 256)), "it is not JSON"),
        ("log.jsonl", gzip.compress(CHAT.encode()), "is packed with gzip: unpack it first"),
        ("log.jsonl", CHAT.encode("utf-16"), "must be text in UTF-8; it is in UTF-16. Save it"),
        ("log.eval", b"no archive", "must be JSON"),
        ("log.csv", b"item_id,p_1,p_2\na,0.4,0.6\n", "is a table of readings already: give it to"),
        ("log.csv", b"text,other\na,4\n", "is a table of texts, which nobody has read yet: `cord"),
    ],
)
def test_files_that_are_no_logs(cordial, tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    assert_refused(cordial("read", name, *GOOD, status=2), tmp_path, name, message)


def test_a_log_that_is_not_there(cordial):
    result = cordial("read", "gone.jsonl", *GOOD, status=2)
    assert result.stderr == "error: cannot read gone.jsonl: No such file or directory.\n"
