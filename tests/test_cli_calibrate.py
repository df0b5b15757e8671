"""`cordial calibrate`, and `fit` and `predict`, which together are the same."""

import json
from pathlib import Path

import numpy as np
import pytest
from review_tables import LABELLED, TEXTS, fast, read, write_tables

from cordial_ppl.tables import read_readings, write_table


def test_the_calibrated_table(cordial, tmp_path):
    notes = [f"note {i}, with a comma" for i in range(TEXTS)]
    files = write_tables(tmp_path, "csv", note=notes, mean=["mine"] * TEXTS)
    result = cordial(*fast("calibrate", *files, "-o", "o.csv"))
    assert (result.stdout, result.stderr) == ("", "")
    out = read("o.csv")
    probs = [f"p_{k}" for k in range(1, 6)]
    assert list(out) == [
        "item_id", *probs, "mean", "low", "high", "label", "note", "input_mean"
    ]  # fmt: skip
    assert out["item_id"] == [f"text {i}" for i in range(TEXTS)]
    assert out["note"] == notes
    assert set(out["input_mean"]) == {"mine"}
    p = np.array([out[name] for name in probs], float).T
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    mean = np.array(out["mean"], float)
    np.testing.assert_allclose(mean, p @ np.arange(1, 6))
    low, high = np.array(out["low"], float), np.array(out["high"], float)
    assert (low >= 1).all() and (low <= high).all() and (high <= 5).all()
    assert out["label"] == [str(k + 1) for k in p.argmax(axis=1)]
    assert read_readings("o.csv").kind == "p"


def test_one_of_several_readers_and_tasks(cordial, tmp_path):
    readings, labels = write_tables(tmp_path)
    cordial(*fast("calibrate", readings, labels, "-o", "alone.csv"))
    one = read(readings)
    wrong = {name: cells[::-1] if name != "item_id" else cells for name, cells in one.items()}
    both = {name: one[name] + wrong[name] + wrong[name] for name in one}
    names = {"reader": ["a", "b", "a"], "task": ["x", "x", "y"]}
    for field, values in names.items():
        both[field] = np.repeat(values, TEXTS).tolist()
    write_table("both.csv", both)
    cordial(*fast("calibrate", "both.csv", labels, "-o", "o.csv", "--reader", "a", "--task", "x"))
    out, alone = read("o.csv"), read("alone.csv")
    assert set(out.pop("reader")) == {"a"} and set(out.pop("task")) == {"x"}
    assert out == alone


def test_options_give_the_order_of_the_scale(cordial, tmp_path):
    readings, labels = write_tables(tmp_path)
    cells = read(readings)
    names = list(cells)
    write_table("turned.csv", {name: cells[name] for name in names[:1] + names[:0:-1]})
    cordial(*fast("calibrate", readings, labels, "-o", "a.csv"))
    cordial(*fast("calibrate", "turned.csv", labels, "-o", "b.csv", "--options", "1, 2, 3, 4, 5"))
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        ({"logit": np.eye(6, 2) * 4}, ["1"]),
        ({"logit": np.tile(np.eye(5) * 4, (12, 1))}, ["0", "1"] * 10),
        ({"p": np.tile([0.3, 0.7], (6, 1))}, ["0", "1", "1", "1"]),
        ({"n": np.eye(6, 2) * 7 + 1}, ["0", "1", "1", "1"]),
    ],
    ids=["one label", "classes unseen", "p", "counts"],
)
def test_little_is_enough(cordial, cells, labels):
    ((prefix, values),) = cells.items()
    ids = [f"text {i}" for i in range(len(values))]
    columns = {f"{prefix}_{k}": values[:, k] for k in range(values.shape[1])}
    write_table("r.csv", {"item_id": ids, **columns})
    write_table("l.csv", {"item_id": ids[: len(labels)], "label": labels})
    cordial(*fast("calibrate", "r.csv", "l.csv", "-o", "o.csv"))
    out = read("o.csv")
    p = np.array([out[f"p_{k}"] for k in range(values.shape[1])], float)
    assert np.isfinite(p).all() and (p > 0).all()
    np.testing.assert_allclose(p.sum(axis=0), 1, atol=1e-12)


def test_unicode_options_with_blanks(cordial):
    options = ["très mauvais", "坏, sehr", "so là là", "good 👍", "ausgezeichnet ★"]
    ids = [f"text {i}" for i in range(TEXTS)]
    cells = {f"logit_{o}": np.tile(4 * np.eye(5)[k], 12) for k, o in enumerate(options)}
    write_table("r.jsonl", {"item_id": ids, **cells})
    write_table("l.csv", {"item_id": ids[:LABELLED], "label": options * 4})
    more = ["--options", 'très mauvais,"坏, sehr",so là là,good 👍,ausgezeichnet ★']
    cordial(*fast("calibrate", "r.jsonl", "l.csv", "-o", "o.csv", *more))
    out = read("o.csv")
    assert set(out["label"]) <= set(options)
    assert f"p_{options[1]}" in out


def test_a_missing_option_is_counted_in_one_warning(cordial, tmp_path):
    readings, labels = write_tables(tmp_path)
    cells = read(readings)
    cells["logit_1"][3] = cells["logit_2"][3] = cells["logit_1"][30] = "-inf"
    write_table(readings, cells)
    result = cordial(*fast("calibrate", readings, labels, "-o", "o.csv"))
    assert result.stderr.count("warning: ") == result.stderr.count("\n") == 1
    assert "3 options in 2 of 60 rows" in result.stderr
    assert "the first in line 5, column 'logit_1'" in result.stderr


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_fit_and_predict_are_calibrate(cordial, tmp_path, ending):
    files = write_tables(tmp_path, ending)
    more = [] if ending == "csv" else ["--inference", "mode"]
    cordial("calibrate", *files, "-o", f"whole.{ending}", "--seed", 5, *more)
    cordial("fit", *files, "-o", "judge.cordial", "--seed", 5, *more)
    cordial("predict", "judge.cordial", files[0], "-o", f"halves.{ending}")
    assert Path(f"halves.{ending}").read_bytes() == Path(f"whole.{ending}").read_bytes()


def test_columns_of_other_names_are_refused(cordial, tmp_path):
    readings, labels = write_tables(tmp_path)
    cordial(*fast("fit", readings, labels, "-o", "judge.cordial"))
    cells = read(readings)
    write_table("letters.csv", dict(zip(["item_id", *(f"logit_{c}" for c in "abcde")],
                                        cells.values(), strict=True)))  # fmt: skip
    wrong = cordial("predict", "judge.cordial", "letters.csv", "-o", "o.csv", status=2)
    assert "must name the columns of letters.csv" in wrong.stderr
    few = cordial(
        "predict", "judge.cordial", "letters.csv", "-o", "o.csv", "--options", "a,b", status=2
    )
    assert "2 options, but judge.cordial was fitted on 5" in few.stderr
    assert not Path("o.csv").exists()


def test_the_summary_and_json(cordial, tmp_path):
    files = write_tables(tmp_path)
    result = cordial("calibrate", *files, "-o", "o.csv", "--inference", "mode")
    assert "temperature" in result.stdout and "Expected log loss" in result.stdout
    assert result.stderr.startswith("wrote o.csv: 60 texts")
    arguments = ["--inference", "mode", "--json"]
    found = json.loads(cordial("calibrate", *files, "-o", "o.csv", *arguments).stdout)
    assert (found["output"], found["texts"], found["labels"]) == ("o.csv", TEXTS, LABELLED)
    assert found["summary"]["sentences"]
    fitted = json.loads(cordial("fit", *files, "-o", "j.cordial", *arguments).stdout)
    assert fitted["summary"] == found["summary"]
    done = cordial("predict", "j.cordial", files[0], "-o", "o.csv", "--json").stdout
    assert json.loads(done) == {"output": "o.csv", "texts": 60, "options": list("12345")}


def test_readings_of_another_model_are_pointed_out(cordial, tmp_path):
    known, labels = write_tables(tmp_path, reader_model=["a"] * TEXTS, reader_prompt=["x"] * TEXTS)
    cordial(*fast("fit", known, labels, "-o", "judge.cordial"))
    predict = "predict", "judge.cordial", known, "-o", "o.csv"
    assert "another kind" not in cordial(*predict).stderr
    other, _ = write_tables(tmp_path, reader_model=["b"] * TEXTS, reader_prompt=["x"] * TEXTS)
    said = cordial(*predict[:2], other, *predict[3:]).stderr
    assert "model 'b' where the calibrator knows 'a'" in said
    assert "prompt 'x'" not in said
    assert Path("o.csv").exists()
    plain, _ = write_tables(tmp_path)
    assert "another kind" not in cordial(*predict[:2], plain, *predict[3:]).stderr
