"""Tables as crowds fill them in: several texts a row, and forms' answers in a cell of JSON."""

import json

import pytest

from cordial_ppl.errors import CordialWarning, InputError
from cordial_ppl.logs import read
from cordial_ppl.tables import write_table

OPTIONS = tuple("12345")
STARS = {"item": "text_*", "answer": "score_*", "options": OPTIONS}


def hit(number, texts=3, **more):
    """A worker's row of texts and their scores."""
    items = range(texts * number, texts * (number + 1))
    row = {"worker": f"w{number}"}
    row |= {f"text_{k}": f"a{item}" for k, item in enumerate(items, 1)}
    return row | {f"score_{k}": str(1 + item % 5) for k, item in enumerate(items, 1)} | more


def write(path, rows):
    write_table(path, {name: [row.get(name) for row in rows] for name in rows[0]})
    return path


def ratings(collected):
    counts = [collected.readings[f"n_{option}"] for option in OPTIONS]
    stated = [1 + cells.index(1) if 1 in cells else None for cells in zip(*counts, strict=True)]
    return dict(zip(collected.readings["item_id"], stated, strict=True))


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_row_of_several_texts(tmp_path, ending):
    rows = [hit(number, text_language="en") for number in range(10)]
    found = read(write(tmp_path / f"w.{ending}", rows), **STARS)
    assert ratings(found) == {f"a{i}": 1 + i % 5 for i in range(30)}
    assert found.readings["worker"][:4] == ["w0", "w0", "w0", "w1"]


def test_a_row_may_have_fewer_texts(tmp_path):
    """Where a text has no score, the text was not read; where there is no text, there is none."""
    rows = [*map(hit, range(3)), hit(3, text_3="", score_3="", score_2="")]
    with pytest.warns(CordialWarning, match="1 row with no answer"):
        found = ratings(read(write(tmp_path / "w.csv", rows), **STARS))
    assert found == {f"a{i}": None if i == 10 else 1 + i % 5 for i in range(11)}


def test_stars_are_people_too(tmp_path):
    """Several scales, their labels and the annotator, with a star at the beginning of the names."""
    rows = [{"who": w, **{f"{k}_{f}": f"{f[0]}{k}" if f == "id" else str(k) for k in (1, 2, 3)
            for f in ("id", "stars")}} for w in ("ann", "bob")]  # fmt: skip
    path = write(tmp_path / "w.csv", rows)
    found = read(path, item="*_id", label="*_stars", annotator="who", options=OPTIONS)
    assert found.labels["label"] == ["1", "2", "3"] * 2
    assert found.labels["annotator"] == ["ann"] * 3 + ["bob"] * 3
    with pytest.raises(InputError, match=r"\*_grade"):
        read(path, item="*_id", label="*_grade", options=OPTIONS)


ANSWERS = {
    "radio": lambda k: {"rating": {str(o): o == k for o in range(1, 6)}},
    "classifier": lambda k: {"category": {"label": str(k)}},
    "slider": lambda k: {"score": k},
}


@pytest.mark.parametrize("form", ANSWERS)
def test_a_crowd_form(tmp_path, form):
    """Batch results of MTurk's crowd-radio-group, crowd-classifier and crowd-slider."""
    rows = [
        {
            "HITId": f"H{i}",
            "WorkerId": who,
            "AssignmentStatus": "Rejected" if i == 9 else "Approved",
            "Input.item_id": f"a{i}",
            "Answer.taskAnswers": json.dumps([ANSWERS[form](1 + i % 5)]),
        }
        for i in range(10)
        for who in ("W1", "W2")
    ]
    found = read(write(tmp_path / "m.csv", rows), options=OPTIONS).labels
    assert found["item_id"] == [f"a{i}" for i in range(9) for _ in "12"]
    assert found["label"] == [str(1 + i % 5) for i in range(9) for _ in "12"]
    assert found["annotator"] == ["W1", "W2"] * 9
