"""`cordial read`: from a log to tables for the other commands, and what it says of bad ones."""

import gzip
import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from few_labels import STARS
from logs_of_reviews import LABELS, LOGS, chat

from cordial_ppl.data.scale import Scale
from cordial_ppl.logs.fields import PRESETS
from cordial_ppl.tables import match_labels, read_columns, read_labels, read_readings

OPTIONS = "1,2,3,4,5"
PAGE = Path(__file__).parents[2] / "docs" / "tables.md"


def cells(path):
    return {name: list(column) for name, column in read_columns(path).cells.items()}


@pytest.mark.parametrize(
    ("name", "kind", "size", "ending"),
    [
        ("openai_chat.jsonl", "logprob", 20, "csv"), ("samples.jsonl", "n", 20, "jsonl"),
        ("openai_completions.jsonl", "logprob", 8, "parquet"),
    ],
)  # fmt: skip
def test_what_is_written_can_be_read(cordial, name, kind, size, ending):
    written = ("-o", f"r.{ending}", "--labels", f"l.{ending}")
    result = cordial("read", LOGS / name, *written, "--options", OPTIONS)
    assert result.stdout == "" and f"{size} readings on the scale 1, 2, 3, 4, 5" in result.stderr
    assert "warning" not in result.stderr
    table = read_readings(f"r.{ending}")
    assert (table.kind, table.scale.options, len(table.item_ids)) == (kind, STARS, size)
    labels = read_labels(f"l.{ending}", table.scale)
    assert sorted(match_labels(table, labels)[1]) == list(range(size))
    assert labels.labels.tolist() == [int(label) - 1 for label in list(LABELS.values())[:size]]


def test_labels_alone_go_with_readings_from_elsewhere(cordial):
    cordial("read", LOGS / "argilla.json", "--labels", "l.csv")
    assert [path.name for path in Path().iterdir()] == ["l.csv"]
    cordial("read", LOGS / "openai_chat.jsonl", "-o", "r.csv", "--options", OPTIONS, "-q")
    labels = read_labels("l.csv", Scale(STARS))
    rows = match_labels(read_readings("r.csv"), labels)[1]
    assert len(set(labels.item_ids)) == 8 and labels.several and len(rows) == 15


def test_the_page_lists_every_preset():
    page = PAGE.read_text()
    assert not [name for name in PRESETS if f"`{name}`" not in page]


def test_the_report_for_programs(cordial):
    arguments = ("-o", "r.csv", "--labels", "l.csv", "--options", OPTIONS, "--json")
    report = json.loads(cordial("read", LOGS / "openai_chat.jsonl", *arguments).stdout)
    assert (report["format"], report["readings"], report["labels"]) == ("responses", 20, 20)
    assert report["unread"] == report["notes"] == {}


def test_without_a_table_to_write_rows_are_shown(cordial, log, tmp_path):
    rows = [
        {"doc": i, "judge": "m", "scores": {"tone": 4, "style": 5}, "human": 3} for i in range(9)
    ]
    naming = ("--item", "doc", "--answer", "scores.tone,scores.style", "--label", "human")
    shown = cordial("read", log(*rows), *naming, "--options", OPTIONS)
    assert [path.name for path in tmp_path.iterdir()] == ["log.jsonl"]
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert lines[0][:2] == ["18", "readings"] and lines[7][:2] == ["9", "labels"]
    assert lines[1][:3] == ["answer", "item_id", "task"] and lines[1][-1] == "n_5"
    assert lines[2][:3] == ["'4'", "0", "tone"] and lines[2][-2:] == ["1.0", "0.0"]
    assert lines[8] == ["item_id", "label"] and lines[9] == ["0", "3"]
    assert len(lines) == 14


def test_what_deserves_a_look_is_said_even_when_quiet(cordial, log):
    good = ("-o", "o.csv", "--options", OPTIONS)
    rows = [chat({"4": -0.3}), chat({"I": -0.1}, {" pass": -0.1})]
    told = cordial("read", log(*rows), *good, "-q").stderr
    assert "1 answer naming no option" in told and "score for only one option" in told
    told = cordial("read", log(chat({"No": -0.1, "5": -7.0, "4": -8.0})), *good, "-q").stderr
    assert "0.00 of the probability" in told
    lost = [{"custom_id": f"b{i}", "error": {"message": "It expired."}} for i in range(4)]
    fine = {"custom_id": "a", "response": {"body": chat({"4": -0.1, "5": -3.0})}}
    told = cordial("read", log(*lost, fine), *good, "-q").stderr
    assert "4 rows" in told and "It expired" in told and "and 1 more" in told


def test_letters_for_options(cordial, log):
    path = log(chat({"A": -0.2, "B": -2.0, " C": -3.0}, item_id="a", label="fair"))
    spell = ("--spell", "good=A", "--spell", "fair=B", "--spell", "poor=C")
    down = ("--options", "poor,fair,good")
    cordial("read", path, "-o", "r.csv", "--labels", "l.csv", *down, *spell)
    table = cells("r.csv")
    assert list(table) == ["item_id", "logprob_poor", "logprob_fair", "logprob_good"]
    assert [column[0] for column in table.values()] == ["a", "-3.0", "-2.0", "-0.2"]
    assert cells("l.csv") == {"item_id": ["a"], "label": ["fair"]}


GOOD = ["-o", "o.csv", "--options", OPTIONS]
CHAT = (LOGS / "openai_chat.jsonl").read_text()
BAD = {
    "text": ("good\nbad\n", GOOD, "line 1"),
    "unknown": ('{"a": 1, "b": 2}\n', GOOD, "a (1), b (2)"),
    "other labels": (CHAT, ["-o", "o.csv", "--labels", "l.csv", "--options", "1,2,3,4"], "'5'"),
    "labels alone": ((LOGS / "argilla.json").read_text(), GOOD, "Remove -o"),
    "no labels": ('{"item_id": 1, "score": 4}', [*GOOD, "--labels", "l.csv"], "found no labels"),
    "one file for both": (CHAT, [*GOOD, "--labels", "o.csv"], "o.csv"),
    "no such format": (CHAT, [*GOOD, "--from", "excel"], "'excel'"),
    "no options": ('{"item_id": 1, "score": 4}', ["-o", "o.csv"], "--options 1,2,3,4"),
    "a spelling of nothing": (CHAT, [*GOOD, "--spell", "1"], "--spell"),
    "bytes": (bytes(range(128, 256)), GOOD, "UTF-8"),
    "packed": (gzip.compress(CHAT.encode()), GOOD, "UTF-8"),
    "gone": (None, GOOD, "log.jsonl"),
    "log.eval": ("no archive", GOOD, "Inspect" if find_spec("inspect_ai") else "[inspect]"),
    "log.csv": ("item_id,p_1,p_2\na,0.4,0.6\n", GOOD, "cordial calibrate"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_line(cordial, tmp_path, case):
    content, arguments, fact = BAD[case]
    name = case if case.startswith("log.") else "log.jsonl"
    if content is not None:
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    result = cordial("read", name, *arguments, status=2)
    *warnings, line = result.stderr.splitlines()
    assert result.stdout == "" and fact in line and line.startswith("cordial read: ")
    assert all(warning.startswith("warning: ") for warning in warnings)
    assert [path.name for path in tmp_path.iterdir()] == [name] * (content is not None)
