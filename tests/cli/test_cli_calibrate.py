"""`cordial calibrate`, and `fit` and `predict`, which together are the same."""

import numpy as np
import pytest
from review_tables import LABELLED, TEXTS, fast, read, read_probabilities, write_tables

from cordial_ppl.tables import read_readings


def test_the_calibrated_table(cordial, tmp_path):
    notes = [f"note {i}, with a comma" for i in range(TEXTS)]
    files = write_tables(tmp_path, "csv", note=notes, mean=["mine"] * TEXTS)
    result = cordial(*fast("calibrate", *files, "-o", "o.csv"))
    assert (result.stdout, result.stderr) == ("", "")
    out = read("o.csv")
    probs = [f"p_{k}" for k in range(1, 6)]
    assert list(out) == [
        "item_id", *probs, "mean", "mean_low", "mean_high", "label", "label_low", "label_high",
        "note", "input_mean",
    ]  # fmt: skip
    assert out["item_id"] == [f"text {i}" for i in range(TEXTS)]
    assert out["note"] == notes
    assert set(out["input_mean"]) == {"mine"}
    p = read_probabilities("o.csv")
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    mean = np.array(out["mean"], float)
    np.testing.assert_allclose(mean, p @ np.arange(1, 6))
    low, high = np.array(out["mean_low"], float), np.array(out["mean_high"], float)
    assert (low >= 1).all() and (low <= high).all() and (high <= 5).all()
    assert out["label"] == [str(k + 1) for k in p.argmax(axis=1)]
    first, last = (np.array(out[name], int) - 1 for name in ("label_low", "label_high"))
    inside = (first[:, None] <= np.arange(5)) & (np.arange(5) <= last[:, None])
    assert (np.where(inside, p, 0).sum(axis=1) >= 0.9 - 1e-9).all() and not inside.all()
    assert read_readings("o.csv").kind == "p"


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_fit_and_predict_are_calibrate(cordial, as_json, tmp_path, ending):
    files = write_tables(tmp_path, ending)
    more = ["--seed", 5] if ending == "csv" else ["--seed", 5, "--inference", "mode"]
    whole, halves = (tmp_path / f"{name}.{ending}" for name in ("whole", "halves"))
    made, fitted, predicted = (
        as_json(*command)
        for command in (
            ("calibrate", *files, "-o", whole, *more),
            ("fit", *files, "-o", "judge.cordial", *more),
            ("predict", "judge.cordial", files[0], "-o", halves),
        )
    )
    assert halves.read_bytes() == whole.read_bytes()
    assert (made["output"], made["texts"], made["labels"]) == (str(whole), TEXTS, LABELLED)
    assert fitted["summary"] == made["summary"] and made["summary"]["sentences"]
    assert predicted.pop("drift")["p"] == 1
    assert predicted == {"output": str(halves), "texts": TEXTS, "options": [*"12345"]}
    # In words, and with the posteriors for who asks.
    brief, long = (
        cordial("calibrate", *files, "-o", whole, *more, *verbose)
        for verbose in ((), ("--verbose",))
    )
    assert str(whole) in brief.stderr and str(TEXTS) in brief.stderr
    assert all(name in brief.stdout for name in made["summary"]["weights"])
    added = long.stdout.removeprefix(brief.stdout.rstrip())
    assert added != long.stdout and all(name in added for name in made["summary"]["diagnostics"])


def test_readings_of_another_model_are_pointed_out(cordial, tmp_path):
    def predict(**provenance):
        readings = write_tables(tmp_path, "csv", **{k: [v] * TEXTS for k, v in provenance.items()})[
            0
        ]
        return cordial("predict", "judge.cordial", readings, "-o", "o.csv").stderr

    known = {"reader_model": ["a"] * TEXTS, "reader_prompt": ["x"] * TEXTS}
    cordial(*fast("fit", *write_tables(tmp_path, "csv", **known), "-o", "judge.cordial"))
    told = predict(reader_model="b", reader_prompt="x")
    assert "model 'b'" in told and "'a'" in told and "'x'" not in told
    assert "warning" not in predict(reader_model="a", reader_prompt="x") + predict()
