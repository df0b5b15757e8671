"""`cordial fuse`: readers in one table or in several, of different kinds, with gaps."""

import re

import numpy as np
import pytest
from review_tables import LABELLED, TEXTS, read, read_probabilities, write_tables

import cordial_ppl as cp
from cordial_ppl.tables import read_several, write_table


@pytest.fixture
def files(tmp_path):
    """Logits by leave out --also, and hard ratings by another who has left out some texts."""
    readings, labels = write_tables(tmp_path, reader=["logits"] * TEXTS)
    cells = read(readings)
    stated = np.argmax([cells[f"logit_{k}"] for k in range(1, 6)], axis=0) + 1
    rows = [i for i in range(TEXTS) if i % 10]
    ratings = {"item_id": [cells["item_id"][i] for i in rows], "rating": stated[rows]}
    write_table(tmp_path / "hard.csv", ratings)
    return readings, labels, tmp_path / "hard.csv"


def test_readers_of_different_kinds_with_gaps(cordial, as_json, files, tmp_path):
    """The table has the fusion's predictions; a saved one predicts again, also without a reader."""
    readings, labels, hard = files
    settings = "--also", hard, "-o", "o.csv", "--save", "j.cordial", "--inference", "mode"
    result = cordial("fuse", readings, labels, *settings)
    assert all(name in result.stdout for name in ("logits", "hard", "joint"))
    assert "o.csv" in result.stderr and "j.cordial" in result.stderr
    table = read_several([readings, hard])
    assert table.readers == ("logits", "hard") and table.logits.shape == (TEXTS, 2, 5)
    assert np.isnan(table.logits[::10, 1]).all() and np.isfinite(table.logits[1::10]).all()
    fusion = cp.Fusion(table.scale, readers=table.readers, inference="mode")
    fusion.fit(table.logits[:LABELLED], [str(z) for z in read(labels)["label"]])
    expected = fusion.predict_proba(table.logits)
    np.testing.assert_allclose(read_probabilities("o.csv"), expected, rtol=0, atol=1e-9)
    found = read("o.csv")
    low, mean, high = (np.array(found[name], float) for name in ("mean_low", "mean", "mean_high"))
    assert (low <= mean).all() and (mean <= high).all()
    assert found["item_id"] == table.item_ids and "reader" not in found
    cordial("predict", "j.cordial", readings, "--also", hard, "-o", "again.csv")
    assert read("again.csv") == found
    result = cordial("predict", "j.cordial", readings, "-o", "alone.csv")
    assert "warning: " in result.stderr and "hard" in result.stderr
    expected = fusion.predict_proba({"logits": table.logits[:, 0]})
    np.testing.assert_allclose(read_probabilities("alone.csv"), expected, rtol=0, atol=1e-9)
    found = as_json("fuse", readings, labels, *settings)
    assert found["texts"] == TEXTS and found["labels"] == LABELLED
    counts = {name: own["expected"]["labels"] for name, own in found["readers"].items()}
    assert counts == {"logits": 20, "hard": 18} and found["expected"]["cordial"] > 0
    assert sum(found["weights"].values()) == pytest.approx(1)
    # It knows how each judge's readings were made.
    for model in ("a", "b"):
        write_tables(tmp_path, reader=["logits"] * TEXTS, reader_model=[model] * TEXTS)
        if model == "a":
            cordial("fuse", readings, labels, *settings)
    told = cordial("predict", "j.cordial", readings, "--also", hard, "-o", "o.csv").stderr
    assert "model 'b' instead of 'a'" in told


@pytest.mark.parametrize(
    "named",
    [
        ("--readers", "gpt,person"),
        ("--readers", "gpt,pair"),
        ("--readers", "gpt,who"),
        ("--reader", "person"),
        ("--reader", "person=3"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("labels", ["copy.csv", pytest.param("one.csv", marks=pytest.mark.nightly)])
def test_what_people_gave_is_no_judge(cordial, tmp_path, monkeypatch, named, labels):
    """Ids, labels and annotators are refused as judges, wherever the labels are, not proposed."""
    monkeypatch.chdir(tmp_path)
    stars = [1 + i % 5 for i in range(40)]
    judges = {"gpt": stars, "claude": stars[::-1], "person": stars, "who": ["ann"] * 40}
    for name in ("one.csv", "copy.csv"):
        write_table(name, {"pair": [f"p{i}" for i in range(40)], **judges})
    roles = "--id", "pair", "--label", "person", "--annotator", "who", "--options", "1,2,3,4,5"
    output = "-o", "o.csv", "--inference", "mode"
    for typed in (named, *(("--readers", f"gpt,{name}") for name in ("persn", "whom", "pairs"))):
        said = cordial("fuse", "one.csv", labels, *roles, *output, *typed, status=2)
        assert ": --reader" in said.stderr
        assert not re.search(r": --readers? .*\b(person|who|pair)\b", said.stderr)


def test_users_are_no_judge(cordial, tmp_path, monkeypatch):
    """Also where their numbers could be ratings."""
    monkeypatch.chdir(tmp_path)
    stars = [1 + i % 5 for i in range(40)]
    ids = [f"p{i}" for i in range(40)]
    write_table("r.csv", {"item_id": ids, "gpt": stars, "user": stars[::-1]})
    write_table("l.csv", {"item_id": ids, "label": stars})
    command = "fuse", "r.csv", "l.csv", "-o", "o.csv", "--options", "1,2,3,4,5"
    assert "'user'" in cordial(*command, "--readers", "gpt,user", status=2).stderr


def test_texts_that_no_judge_has_read_stay(cordial, text, tmp_path):
    """In a table of a column a judge as in one of a row a judge: their labels predict them."""
    stated = {"a": lambda k: 1 + k % 5, "b": lambda k: 1 + (k + k % 2) % 5}
    ids, cell = range(40), {}
    for judge, rate in stated.items():
        cell[judge] = ["" if k % 8 == 0 or (judge, k % 8) == ("b", 1) else rate(k) for k in ids]
    wide = [f"t{k},{cell['a'][k]},{cell['b'][k]}" for k in ids]
    long = [f"t{k},{judge},{cell[judge][k]}" for judge in cell for k in ids]
    text("l.csv", "item_id,label", *(f"t{k},{5 if k % 8 == 0 else 1 + k % 5}" for k in ids[:24]))
    text("wide.csv", "item_id,a,b", *wide)
    text("long.csv", "item_id,reader,rating", *long)
    settings = "--options", "1,2,3,4,5", "--inference", "mode", "--save", "f.cordial", "-o"
    result = cordial("fuse", "wide.csv", "l.csv", "--readers", "a,b", *settings, "wide_out.csv")
    assert (
        "5 of 40 texts" in result.stderr
        and "labels, including 3 for texts without" in result.stderr
    )
    cordial("fuse", "long.csv", "l.csv", *settings, "long_out.csv")
    refused = cordial("predict", "f.cordial", "wide.csv", "--rating", "a", "-o", "p.csv", status=2)
    assert "all judges" in refused.stderr and "--rating" in refused.stderr
    cordial("predict", "f.cordial", "wide.csv", "-o", "again.csv")
    found = read("wide_out.csv")
    assert found == read("long_out.csv") == read("again.csv")
    gone = np.arange(40) % 8 == 0
    assert [bool(reason) for reason in found["unread"]] == gone.tolist()
    probs = read_probabilities("wide_out.csv")
    assert (probs[gone, 4] > 0.6).all() and (np.ptp(probs[gone], axis=0) == 0).all()
