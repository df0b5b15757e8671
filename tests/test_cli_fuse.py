"""`cordial fuse`: readers in one table or in several, of different kinds, with gaps."""

import json

import numpy as np
import pytest
from review_tables import LABELLED, TEXTS, fast, read, write_tables

import cordial_ppl as cp
from cordial_ppl.tables import read_several, write_table


@pytest.fixture
def files(tmp_path):
    """Logits by one reader, and hard ratings by another who has left out some texts."""
    readings, labels = write_tables(tmp_path, reader=["logits"] * TEXTS)
    cells = read(readings)
    stated = np.argmax([cells[f"logit_{k}"] for k in range(1, 6)], axis=0) + 1
    rows = [i for i in range(TEXTS) if i % 10]
    ratings = {"item_id": [cells["item_id"][i] for i in rows], "rating": stated[rows]}
    write_table(tmp_path / "hard.csv", ratings)
    return readings, labels, tmp_path / "hard.csv"


def test_readers_of_different_kinds_with_gaps(cordial, files):
    readings, labels, hard = files
    arguments = fast("fuse", readings, labels, "--also", hard, "-o", "o.csv")
    cordial(*arguments)
    table = read_several([readings, hard])
    assert table.readers == ("logits", "hard") and table.logits.shape == (TEXTS, 2, 5)
    assert np.isnan(table.logits[::10, 1]).all() and np.isfinite(table.logits[1::10]).all()
    given = [str(z) for z in read(labels)["label"]]
    fusion = cp.Fusion(table.scale, readers=table.readers, inference="mode")
    expected = fusion.fit(table.logits[:LABELLED], given).predict_proba(table.logits)
    found = read("o.csv")
    cells = np.array([found[f"p_{k}"] for k in range(1, 6)], float).T
    np.testing.assert_allclose(cells, expected, rtol=0, atol=1e-9)
    low, mean, high = (np.array(found[name], float) for name in ("low", "mean", "high"))
    assert (low <= mean).all() and (mean <= high).all()
    assert found["item_id"] == table.item_ids and "reader" not in found


def test_what_is_printed(cordial, files):
    readings, labels, hard = files
    arguments = "fuse", readings, labels, "--also", hard, "-o", "o.csv", "--inference", "mode"
    result = cordial(*arguments)
    for word in (
        "logits (20 labels, by itself ",
        "hard (18 labels, ",
        "joint channel",
        "confident",
    ):
        assert word in result.stdout
    assert "  fused " in result.stdout and "calibrated on 20 labels" in result.stderr
    found = json.loads(cordial(*arguments, "--json").stdout)
    assert found["texts"] == TEXTS and found["labels"] == LABELLED
    counts = {name: own["expected"]["labels"] for name, own in found["readers"].items()}
    assert counts == {"logits": 20, "hard": 18}
    assert sum(found["weights"].values()) == pytest.approx(1)
    assert found["expected"]["cordial"] > 0


def test_a_kept_judge_calibrates_other_texts(cordial, files, tmp_path):
    readings, labels, hard = files
    settings = "--also", hard, "-o", "o.csv", "--save", "j.cordial", "--inference", "mode"
    assert "and the judge to j.cordial" in cordial("fuse", readings, labels, *settings).stderr
    cordial("predict", "j.cordial", readings, "--also", hard, "-o", "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "o.csv").read_bytes()
    result = cordial("predict", "j.cordial", readings, "-o", "alone.csv")
    assert "no table has readings by hard" in result.stderr
    fusion = cp.load("j.cordial")
    logits = read_several([readings]).logits[:, 0]
    cells = read("alone.csv")
    found = np.array([cells[f"p_{k}"] for k in range(1, 6)], float).T
    expected = fusion.predict_proba({"logits": logits})
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["predict", "j.cordial", "stranger", "-o", "p.csv"], "there is no reader 'logits'"),
        (["predict", "j.cordial", "readings", "--reader", "hard", "-o", "p.csv"], "leave out"),
        (["predict", "k.cordial", "readings", "--also", "hard", "-o", "p.csv"], "one reader"),
        (["fuse", "readings", "labels", "-o", "p.csv", "--save", "j.csv"], "must end in"),
        (["fuse", "readings", "labels", "-o", "p.csv", "--save", "no/j.cordial"], "no/j.cordial"),
    ],
)
def test_bad_input_beside_a_kept_judge(cordial, files, tmp_path, words, message):
    readings, labels, hard = files
    write_table(tmp_path / "stranger.csv", {"item_id": ["text 0"], "rating": [3]})
    cordial(*fast("fuse", readings, labels, "--also", hard, "-o", "o.csv", "--save", "j.cordial"))
    cordial(*fast("fit", readings, labels, "-o", "k.cordial"))
    paths = {"readings": readings, "hard": hard, "labels": labels}
    paths["stranger"] = tmp_path / "stranger.csv"
    result = cordial(*(paths.get(word, word) for word in words), status=2)
    assert message in result.stderr and result.stderr.count("error:") == 1
    assert not (tmp_path / "p.csv").exists()


def test_one_table_of_several_readers(tmp_path):
    ids = ["a", "b", "c"]
    rows = {
        "item_id": [*ids, "c", "b"],
        "reader": ["one", "one", "one", "two", "two"],
        "p_no": [0.5, 0.2, 0.1, "", ""],
        "p_yes": [0.5, 0.8, 0.9, "", ""],
        "rating": ["", "", "", "no", "yes"],
        "length": [1, 2, 3, 3, 2],
    }
    write_table(tmp_path / "r.csv", rows)
    found = read_several([tmp_path / "r.csv"])
    assert found.readers == ("one", "two") and found.item_ids == ids
    assert found.scale.options == ("no", "yes") and found.kind == "p"
    assert np.isnan(found.logits[0, 1]).all()
    assert found.logits[1, 1].argmax() == 1 and found.logits[2, 1].argmax() == 0
    assert found.extras == {"length": ["1", "2", "3"]}
    swapped = read_several([tmp_path / "r.csv"], readers=["two", "one"])
    assert swapped.item_ids == ["c", "b", "a"]
    np.testing.assert_array_equal(swapped.logits[::-1, ::-1], found.logits)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--reader", "nobody"], "there is no reader 'nobody'"),
        (["--also", "readings"], "the reader 'logits' is in"),
        (["--also", "hard", "--options", "1,2,3"], "options must name the columns"),
        (["--also", "other"], "options must name the columns"),
        (["--also", "apart"], "'apart' has none"),
        (["--reader", "hard", "--also", "hard"], "does not say which ratings were possible"),
    ],
)
def test_bad_input(cordial, files, tmp_path, extra, message):
    readings, labels, hard = files
    write_table(tmp_path / "other.csv", {"item_id": ["text 0"], "p_a": [0.5], "p_b": [0.5]})
    write_table(tmp_path / "apart.csv", {"item_id": ["somewhere else"], "rating": [3]})
    paths = {"readings": readings, "hard": hard}
    paths |= {name: tmp_path / f"{name}.csv" for name in ("other", "apart")}
    extra = [
        paths.get(word, word) if i and extra[i - 1] == "--also" else word
        for i, word in enumerate(extra)
    ]
    result = cordial(*fast("fuse", readings, labels, "-o", "o.csv", *extra), status=2)
    assert message in result.stderr and result.stderr.count("error:") == 1
    assert not (tmp_path / "o.csv").exists()
