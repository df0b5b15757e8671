"""`cordial monitor` says what Python finds, and its exit status is for pipelines."""

import json

import numpy as np
import polars as pl
import pytest
from review_tables import LABELLED, fast, write_tables

import cordial_ppl as cp
from cordial_ppl.tables import read_readings


@pytest.fixture
def tables(tmp_path, cordial):
    readings, labels = write_tables(tmp_path)
    cordial("fit", readings, labels, "-o", "j.cordial", *fast())
    table = pl.read_csv(readings)
    table[LABELLED:].write_csv("old.csv")
    lowest = {name: pl.lit(9.0 * (name == "logit_1")) for name in table.columns[1:]}
    table[LABELLED:].with_columns(**lowest).write_csv("other.csv")
    return readings, labels


def test_the_same_judge_and_another(cordial, tables):
    same = cordial("monitor", "j.cordial", "old.csv", "old.csv", "old.csv")
    assert same.stdout.startswith("the same judge\n  the mean score of 40 texts is ")
    # Evidence of 1e6 where 20 raises an alarm; its logarithm 14.9, sd .6 over 20 draws of reviews.
    other = cordial("monitor", "j.cordial", "old.csv", "other.csv", "-q", status=3)
    old, new = (read_readings(name).logits for name in ("old.csv", "other.csv"))
    fit = cp.load("j.cordial").fit_
    made = cp.monitor(fit, old, new)
    assert made.answer == "no" and other.stdout.rstrip() == made.describe(fit.scale)
    printed = json.loads(
        cordial("monitor", "j.cordial", "old.csv", "other.csv", "--json", status=3).stdout
    )
    assert printed["answer"] == "no" and printed["evidence"] == pytest.approx(made.evidence)
    few = pl.read_csv("other.csv")[:3]
    few.write_csv("few.csv")
    told = cordial("monitor", "j.cordial", "old.csv", "few.csv", status=4).stdout
    assert told.startswith("cannot tell yet: read 20 texts or more\n")


def test_labels_say_whether_the_calibration_holds(cordial, tables):
    readings, _ = tables
    table = read_readings(readings)
    probs = cp.load("j.cordial").predict_proba(table.logits)
    # Evenly spread over what is predicted: evidence of .3 where 20 refutes; its logarithm -1.2, sd
    # .6 over 20 draws of reviews.  The most probable labels would be too good: up to 105.
    spread = np.arange(1, len(probs) + 1) * 0.618 % 1
    right = 1 + (probs[:, :-1].cumsum(axis=1) < spread[:, None]).sum(axis=1)
    wrong = np.where(probs.argmax(axis=1) > 2, 1, 5)
    for name, labels, status in (("right", right, 0), ("wrong", wrong, 3)):
        cells = {"item_id": table.item_ids, "label": np.asarray(labels, str)}
        pl.DataFrame(cells).write_csv(f"{name}.csv")
        told = cordial(
            "monitor", "j.cordial", "old.csv", "old.csv", "--labels", f"{name}.csv", status=status
        ).stdout
        assert told.startswith("the same judge\n")
        # Those of the fit are left out.
        assert ("is not refuted" if name == "right" else "does not hold") in told
        assert "The labels of 40 texts that are not of the fit" in told


def test_bad_input_has_one_message(cordial, tables):
    readings, labels = tables

    def complain(*arguments):
        result = cordial("monitor", *arguments, status=2)
        lines = [line for line in result.stderr.splitlines() if not line.startswith("warning")]
        assert result.stdout == "" and len(lines) == 1
        return lines[0]

    pl.read_csv("old.csv").with_columns(item_id=pl.lit("x") + pl.col("item_id")).write_csv("x.csv")
    told = complain("j.cordial", "old.csv", "x.csv")
    assert "look 1 is at none of the first texts, 'text 20'" in told and "'xtext 20'" in told
    assert "old.csv" in complain("old.csv", "old.csv", "old.csv")
    pl.read_csv("old.csv").drop("logit_5").write_csv("four.csv")
    assert "four.csv" in complain("j.cordial", "old.csv", "four.csv")
    assert "l.csv" in complain("j.cordial", "old.csv", labels)
    same = "j.cordial", "old.csv", "old.csv", "--labels"
    assert "all labelled texts are of the fit: label others" in complain(*same, labels)
    assert "nothing.csv" in complain(*same, "nothing.csv")
    assert "level must lie between 0 and 1" in complain(*same[:3], "--level", "1")
