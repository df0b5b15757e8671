"""Options that the file `cordial.toml` beside the readings keeps."""

import json
import re

import pytest

KEPT = """
id = "answer"
rating = "score"
options = [1, 2, 3, 4, 5]
label = "mark"
by = "system"
user = "system"
inference = "mode"
[estimate]
inference = "default"
[compare]
inference = "default"
[plan]
number = 7
[read]
item = "answer"
answer = "score"
"""
LINE = "data/cordial.toml: --id answer --rating score --options 1,2,3,4,5"


@pytest.fixture
def folder(cordial, tmp_path):
    del cordial  # It has moved to the folder.
    data = tmp_path / "data"
    data.mkdir()
    judged = [f"a{i},{'xy'[i % 2]},{1 + i % 5},{i % 2 + 1}" for i in range(40)]
    people = [f"a{i},{1 + (i * i) % 5},{'xy'[i % 2]}" for i in range(24)]
    (data / "judged.csv").write_text("\n".join(["answer,system,score,other", *judged]))
    (data / "people.csv").write_text("\n".join(["answer,mark,system", *people]))
    (data / "cordial.toml").write_text(KEPT)
    return data


TABLES = ("data/judged.csv", "data/people.csv")


@pytest.mark.parametrize(
    "words",
    [
        ("plan", TABLES[0], "-o", "o.csv"),
        ("calibrate", *TABLES, "-o", "o.csv"),
        ("fit", *TABLES, "-o", "o.cordial"),
        ("estimate", *TABLES),
        ("compare", *TABLES),
        ("shift", *TABLES, "-o", "o.csv"),
        pytest.param(
            ("check", "mixture", "--readings", TABLES[0], "--labels", TABLES[1]),
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_what_a_file_keeps_need_not_be_typed(cordial, folder, words):
    del folder
    told = cordial(*words).stderr
    assert told.startswith(LINE) and "[" not in told


def test_a_calibrator_and_several_judges(cordial, folder):
    cordial("fit", *TABLES, "-o", "o.cordial", "-q")
    assert cordial("predict", "o.cordial", TABLES[0], "-o", "p.csv").stderr.startswith(LINE)
    assert cordial("predict", "o.cordial", TABLES[0], "-o", "p.csv", "-q").stderr == ""
    wide = KEPT.replace('rating = "score"', 'readers = ["score", "other"]')
    (folder / "cordial.toml").write_text(wide)
    fused = cordial("fuse", *TABLES, "-o", "f.csv")
    assert "--readers score,other" in fused.stderr
    # Ratings state no probabilities, and have no log loss as they are.
    assert "label histogram" in fused.stdout and "as they are" not in fused.stdout
    (folder / "cordial.toml").write_text(KEPT)
    told = cordial("learn-prior", *TABLES, "-o", "p.cordial", status=2).stderr
    assert told.startswith(LINE) and "2 tasks or readers at least" in told


def test_what_is_typed_wins(cordial, folder):
    told = cordial("calibrate", *TABLES, "-o", "o.csv", "--rating", "other").stderr
    assert "--rating" not in told and "--id answer --options" in told
    planned = json.loads(cordial("plan", TABLES[0], "-o", "t.csv", "--json", "-n", 3).stdout)
    assert planned["planned"] == 3 and set(planned["groups"]) == {"x", "y"}
    # What names columns of labels names no field of judgments.
    told = cordial("read", folder / "judged.csv", "-o", "r.csv").stderr
    assert "--label" not in told and "40 readings of 1, 2, 3, 4, 5 (fields)" in told


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('ratting = "score"', "data/cordial.toml: 'ratting' is no option .* Did you mean rating"),
        ('prior_of = "x"', "'prior_of' is no option of a command. Did you mean prior-of"),
        ("[plans]\nn = 1", "'plans' is no option"),
        ("[plan]\nlevel = 1", "'level' is no option"),
        ('channel = "x.py"', "'channel' cannot stand here, .* type --channel"),
        ('output = "x.csv"', "'output' cannot stand here"),
        ('server = "http://x"', "'server' cannot stand here"),
        ("local = true", "'local' cannot stand here"),
        ('seed = "x"', r"invalid value for '--seed': data/cordial.toml \(seed = 'x'\): "),
        (
            'rating = "scor"',
            r"data/cordial.toml \(rating = 'scor'\): data/judged.csv has no column",
        ),
        ('options = "1,2"', r"data/cordial.toml: .*--options 1,2\n.*ratings must be .*1..2"),
        ("id = {a = 1}", "'id' must be a value or a list of values; found a table"),
        ("a = = 1", "data/cordial.toml is not TOML: .*line 7"),
    ],
)
def test_what_a_file_keeps_wrongly_is_said(cordial, folder, line, message):
    kept = KEPT.partition("[plan]")[0].partition("user")[0].splitlines()
    kept = [one for one in kept if not one.startswith(line.partition(" =")[0])]
    (folder / "cordial.toml").write_text("\n".join([*kept, line]))
    for quiet in ((), ("-q",)):
        told = cordial("plan", TABLES[0], "-o", "o.csv", *quiet, status=2).stderr
        assert re.search(message, told), told
    assert cordial("plan", TABLES[0], "-h").stdout


def test_a_refusal_of_several_settings_names_the_file(cordial, folder):
    (folder / "cordial.toml").unlink()
    told = cordial("plan", TABLES[0], "-o", "o.csv", status=2).stderr
    assert told.endswith(": --id answer --rating score --options 1,2,3,4,5. "
                         "Or keep them in a file, cordial.toml, beside it.\n")  # fmt: skip
