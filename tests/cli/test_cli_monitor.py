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
    names = dict(zip(table.columns[1:], reversed(table.columns[1:]), strict=True))
    table[LABELLED:].rename(names).write_csv("other.csv")
    return readings, labels


def test_the_same_judge_and_another(cordial, tables):
    same = cordial("monitor", "j.cordial", "old.csv", "old.csv", "old.csv")
    assert same.stdout.startswith("the same judge\n  the mean score of 40 texts is ")
    options = "--options", "1,2,3,4,5"
    other = cordial("monitor", "j.cordial", "old.csv", "other.csv", *options, "-q", status=3)
    five = tuple("12345")
    old, new = (read_readings(name, options=five).logits for name in ("old.csv", "other.csv"))
    fit = cp.load("j.cordial").fit_
    made = cp.monitor(fit, old, new)
    assert made.answer == "no" and other.stdout.rstrip() == made.describe(fit.scale)
    printed = json.loads(
        cordial("monitor", "j.cordial", "old.csv", "other.csv", *options, "--json", status=3).stdout
    )
    assert printed["answer"] == "no" and printed["evidence"] == pytest.approx(made.evidence)
    few = pl.read_csv("other.csv")[:3]
    few.write_csv("few.csv")
    told = cordial("monitor", "j.cordial", "old.csv", "few.csv", *options, status=4).stdout
    assert told.startswith("cannot tell yet: read 20 texts or more\n")


def test_labels_say_whether_the_calibration_holds(cordial, tables):
    readings, _ = tables
    table = read_readings(readings)
    stars = cp.load("j.cordial").predict(table.logits)
    wrong = [{"5": "1", "4": "1"}.get(str(star), "5") for star in stars]
    for name, labels, status in (("right", stars, 0), ("wrong", wrong, 3)):
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
