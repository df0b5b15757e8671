"""`cordial read`: from a log to tables for the other commands, and what it says of bad ones."""

import gzip
import json
import re
from pathlib import Path

import pytest
from few_labels import STARS
from logs_of_reviews import DUMMY, FILES, LABELS, LOGS, chat

from cordial_ppl.data.scale import Scale
from cordial_ppl.logs import FORMATS
from cordial_ppl.tables import match_labels, read_labels, read_readings
from cordial_ppl.tables.formats import read_columns

OPTIONS = "1,2,3,4,5"


def cells(path):
    return {name: list(column) for name, column in read_columns(path).cells.items()}


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        ("openai_chat.jsonl", "csv"), ("openai_completions.jsonl", "parquet"),
        ("samples.jsonl", "jsonl"), ("arrays.npz", "csv"), (str(DUMMY.relative_to(LOGS)), "jsonl"),
    ],
)  # fmt: skip
def test_what_is_written_can_be_read(cordial, name, ending):
    written = ("-o", f"r.{ending}", "--labels", f"l.{ending}")
    result = cordial("read", LOGS / name, *written, "--options", OPTIONS)
    form, kind, size = FILES[name]
    assert result.stdout == ""
    assert f"{size} readings of 1, 2, 3, 4, 5 ({form}) in r.{ending}" in result.stderr
    assert "warning" not in result.stderr
    table = read_readings(f"r.{ending}")
    assert (table.kind, table.scale.options, len(table.item_ids)) == (kind, STARS, size)
    found = read_labels(f"l.{ending}", table.scale)
    assert sorted(match_labels(table, found)[1]) == list(range(size))
    assert found.labels.tolist() == [int(label) - 1 for label in list(LABELS.values())[:size]]


def test_labels_alone_go_with_readings_from_elsewhere(cordial):
    result = cordial("read", LOGS / "argilla.json", "--labels", "l.csv")
    assert re.fullmatch(r"15 labels \(argilla\) in l.csv\n", result.stderr)
    assert [path.name for path in Path().iterdir()] == ["l.csv"]
    cordial("read", LOGS / "openai_chat.jsonl", "-o", "r.csv", "--options", OPTIONS, "-q")
    found = read_labels("l.csv", Scale(STARS))
    rows = match_labels(read_readings("r.csv"), found)[1]
    assert len(set(found.item_ids)) == 8 and found.several and len(rows) == 15


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


GOOD = ["-o", "o.csv", "--options", OPTIONS]
LOST = {"custom_id": "b", "error": {"message": "It expired."}}
HARD = "the log has no log-probabilities.*"
LOOKS = [
    (
        [chat({"4": -0.3}), chat({"I": -0.1}, {" pass": -0.1})], [],
        ["1 answer without an option left out: line 2", "1 text with a single option returned"],
    ),
    (
        [chat({"9": -0.5, "1": -1.2})], ["--options", ",".join(map(str, range(1, 11)))],
        ["1 text in which the first token had to stand for an option of several"],
    ),
    (
        [chat({"No": -0.1, "5": -7.0, "4": -8.0})], [],
        ["the options have 0.00 of the probability on average"],
    ),
    ([{"item_id": "a", "samples": ["4", "?"]}], [], ["1 sample without an option not counted"]),
    (
        [*[LOST] * 4, {"custom_id": "a", "response": {"body": chat({"4": -0.1, "5": -3.0})}}], [],
        ["4 rows without an answer left out: line 1 \\(It expired\\), line 2.*and 1"],
    ),
    ([{"choices": [{"message": {"content": "4"}, "logprobs": None}]}], [], [HARD + "top_logp"]),
    ([{"content": "4", "tokens_predicted": 1}], [], [HARD + '"n_probs": 20']),
    ([{"outputs": [{"text": "4", "token_ids": [9], "logprobs": None}]}], [], [HARD + "Sampling"]),
    ([{"item_id": 1, "score": 4}], [], []),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "arguments", "warnings"), LOOKS)
def test_what_deserves_a_look_is_said_even_when_quiet(cordial, log, rows, arguments, warnings):
    result = cordial("read", log(*rows), *GOOD[:2], "-q", *(arguments or GOOD[2:]))
    assert ("has no log-probabilities" in result.stderr) == any(HARD in words for words in warnings)
    for words in warnings:
        assert re.search(f"warning: {words}", result.stderr)


def test_where_answers_stand_is_told(cordial, log):
    texts = ["Score: 4", "[[3]]", "2", "5", "It earns a 4.", "[[4]] [[8.5]]", "1. Ok.\nRating: 4"]
    rows = [{"item_id": i, "response": text} for i, text in enumerate(texts)]
    given = ("read", log(*rows), "-o", "r.csv", "--options", OPTIONS, "--from", "samples")
    told = cordial(*given).stderr
    assert '1 in brackets or under a key, 2 after a word such as "Score:", 2 alone in' in told
    assert "1 announce something that is not an option, or are followed" in told
    assert cells("r.csv")["item_id"] == ["0", "1", "2", "3", "6"]
    found = json.loads(cordial(*given, "--json").stdout)
    assert found["answers"] == {"named": 2, "marked": 1, "alone": 2, "prose": 1, "off": 1}


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
BAD = {
    "text": ("good\nbad\n", GOOD, "must be JSON, or one JSON object per line; it breaks at line 1"),
    "unknown": (
        '{"a": 1, "b": 2}\n', GOOD,
        "its rows have a \\(1\\), b \\(2\\). Name the field .*: cordial read log"),
    "labels of another scale": (
        CHAT, ["-o", "o.csv", "--labels", "l.csv", "--options", "1,2,3,4"],
        "line 1: a label must be one of 1, 2, 3, 4; found '5'",
    ),
    "labels alone": (
        (LOGS / "argilla.json").read_text(), GOOD, "labels in it but no readings; leave -o out",
    ),
    "no labels": ('{"item_id": 1, "score": 4}', [*GOOD, "--labels", "l.csv"], "no labels in it"),
    "nothing to write": (CHAT, ["--options", OPTIONS], "say what to write"),
    "one file for both": (CHAT, [*GOOD, "--labels", "o.csv"], "would both be o.csv"),
    "no such format": (CHAT, [*GOOD, "--from", "excel"], "a format must be auto or openai"),
    "a spelling of nothing": (CHAT, [*GOOD, "--spell", "1"], "--spell must be OPTION=TEXT"),
    "bytes": (bytes(range(128, 256)), GOOD, "must be text in UTF-8"),
    "packed": (gzip.compress(CHAT.encode()), GOOD, "must be text in UTF-8"),
    "gone": (None, GOOD, "cordial read: cannot read log.jsonl: No such file or directory."),
    "log.eval": ("no archive", GOOD, "Inspect cannot read|cordial-ppl\\[inspect\\]"),
    "log.csv": ("item_id,p_1,p_2\na,0.4,0.6\n", GOOD, "is a table of readings already: give it to"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_line(cordial, tmp_path, case):
    content, arguments, message = BAD[case]
    name = case if case.startswith("log.") else "log.jsonl"
    if content is not None:
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    result = cordial("read", name, *arguments, status=2)
    assert result.stdout == ""
    assert result.stderr.startswith("cordial ") and result.stderr.count("\n") == 1
    assert re.search(message, result.stderr), result.stderr
    assert f"{name}: {name}" not in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name] * (content is not None)


@pytest.mark.skipif("inspect.eval" not in FILES, reason="Inspect is not installed")
def test_scores_of_inspect_are_named_and_read(cordial):
    log = LOGS / "inspect_graded.eval"
    given = ("read", log, "-o", "r.csv", "--options")
    told = cordial(*given, OPTIONS, status=2).stderr
    assert "It also has scores: read them by --score model_graded_qa or rubric.clarity" in told
    told = cordial(*given, "I,P,C", "--score", "model_graded_qa").stderr
    assert "6 readings of I, P, C (inspect) in r.csv" in told and "warning" not in told
    assert set(cells("r.csv")["reader"]) == {"mockllm/grader"}
    # Letters of the tested model may be options, but are no grades.
    told = cordial(*given, "A,Thank you", "--after", "^", "-q").stderr
    assert "warning: these are the answers of the model that was tested" in told
    assert "--score model_graded_qa" in told


def test_other_columns_are_passed_on(cordial, log):
    """Those of a row or of its text's element, but no long text; names of readings are changed."""
    row = {
        "question": "q",
        "score": 4,
        "metadata": {"system": "x"},
        "n_tokens": 7,
        "text": "a" * 201,
    }
    path = log(*({**row, "id": i, "lists": [1]} for i in range(3)))
    given = ("-o", "r.csv", "--answer", "score", "--options", OPTIONS)
    told = cordial("read", path, "--item", "id", *given).stderr
    assert "columns passed on: question, metadata.system, input_n_tokens\n" in told
    found = cells("r.csv")
    assert found["metadata.system"] == ["x"] * 3 and found["input_n_tokens"] == ["7"] * 3
    # Parts of a name are passed on too; what differs between rows of one text is not.
    cordial("read", path, "--item", "question,metadata.system", *given)
    assert cells("r.csv")["metadata.system"] == ["x"] and "id" not in cells("r.csv")
    said = cordial("read", path, "--item", "id", *given[:4], status=2).stderr
    assert said.endswith("--options 1,2,3,4.\n")
    whole = log({"results": [{"id": "a", "score": 4, "vars": {"lang": "de"}}], "run": 1})
    cordial(
        "read",
        whole,
        *given[:2],
        "--item",
        "results.*.id",
        "--answer",
        "results.*.score",
        *given[4:],
    )
    assert cells("r.csv")["vars.lang"] == ["de"] and "run" not in cells("r.csv")
