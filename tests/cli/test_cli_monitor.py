"""`cordial monitor` says what Python finds, and its exit status is for pipelines."""

import numpy as np
import polars as pl
import pytest
from review_tables import LABELLED, TEXTS, fast, write_tables

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
    turned = {f"logit_{k}": pl.col(f"logit_{6 - k}") for k in range(1, 6)}
    table[LABELLED:].with_columns(**turned).write_csv("turned.csv")
    return readings, labels


def test_the_same_judge_and_another(cordial, as_json, tables):
    def monitor(*looks, status=0):
        return as_json("monitor", "j.cordial", "old.csv", *looks, status=status)

    assert monitor("old.csv", "old.csv")["answer"] == "yes"
    # Evidence of 1e6 where 20 raises an alarm; its logarithm 14.9, sd .6 over 20 draws of reviews.
    other = cordial("monitor", "j.cordial", "old.csv", "other.csv", "-q", status=3)
    old, new = (read_readings(name).logits for name in ("old.csv", "other.csv"))
    fit = cp.load("j.cordial").fit_
    made = cp.monitor(fit, old, new)
    assert made.answer == "no" and other.stdout.rstrip() == made.describe(fit.scale)
    printed = monitor("other.csv", status=3)
    assert printed["answer"] == "no" and printed["evidence"] == pytest.approx(made.evidence)
    turned = cordial("monitor", "j.cordial", "old.csv", "turned.csv", "-q", status=3)
    assert "--reverse" in turned.stdout and "--reverse" not in other.stdout
    pl.read_csv("other.csv")[:3].write_csv("few.csv")
    assert monitor("few.csv", status=4)["answer"] == "cannot say"


def test_labels_may_name_the_options_otherwise(as_json, tables):
    """From 0 to 4 in tables of new texts, and 1 to 5 in those of the fit."""
    old, found = pl.read_csv("old.csv"), []
    best = old[:, 1:].to_numpy().argmax(axis=1)
    for first in (1, 0):
        options = [str(first + k) for k in range(5)]
        columns = zip(old.columns[1:], map("logit_{}".format, options), strict=True)
        old.rename(dict(columns)).write_csv("o.csv")
        old.select("item_id", label=best + first).write_csv("new.csv")
        looks = "o.csv", "o.csv", "--labels", "new.csv", "--options", ",".join(options)
        found.append(as_json("monitor", "j.cordial", *looks)["labels"])
    assert found[0] == found[1]


def test_another_model_that_reads_alike_is_not_called_the_same(as_json, cordial, tables):
    readings = pl.read_csv(tables[0])
    for model in ("a", "b"):
        readings.with_columns(reader_model=pl.lit(model)).write_csv(f"{model}.csv")
    cordial("fit", "a.csv", tables[1], "-o", "j.cordial", *fast())
    for old, new, same in (("a", "a", True), ("a", "b", False), ("b", "b", True)):
        looks = "monitor", "j.cordial", f"{old}.csv", f"{new}.csv"
        said = cordial(*looks).stdout
        assert said.startswith("the same judge") == same == ("instead of" not in said)
        assert as_json(*looks)["answer"] == "yes"


@pytest.mark.parametrize(("name", "status"), [("right", 0), ("wrong", 3), ("doubtful", 0)])
def test_labels_say_whether_the_calibration_holds(as_json, cordial, tables, name, status):
    table = read_readings(tables[0])
    probs = cp.load("j.cordial").predict_proba(table.logits)
    # Evenly spread over what is predicted: evidence of .3 where 20 refutes; its logarithm -1.2, sd
    # .6 over 20 draws of reviews.  The most probable labels would be too good: up to 105.  Over
    # less sure predictions it is some evidence, and not enough.
    drawn = probs ** (0.64 if name == "doubtful" else 1.0)
    drawn /= drawn.sum(axis=1, keepdims=True)
    spread = np.arange(1, len(probs) + 1) * 0.618 % 1
    labels = 1 + (drawn[:, :-1].cumsum(axis=1) < spread[:, None]).sum(axis=1)
    if name == "wrong":
        labels = np.where(probs.argmax(axis=1) > 2, 1, 5)
    cells = {"item_id": table.item_ids, "label": labels.astype(str)}
    pl.DataFrame(cells).write_csv("labels.csv")
    given = "monitor", "j.cordial", "old.csv", "old.csv", "--labels", "labels.csv"
    found = as_json(*given, status=status)
    # Those of the fit are left out.
    assert found["labels"]["labels"] == TEXTS - LABELLED
    evidence = found["labels"]["evidence"]
    assert (evidence > 20) == (name == "wrong") and (evidence < 0.5) == (name == "right")
    if name == "wrong":  # The first line says what the status says.
        assert "labels contradict" in cordial(*given, status=status).stdout.splitlines()[0]


@pytest.mark.parametrize("texts", [None, range(LABELLED)])
def test_texts_of_a_fit_in_python_are_recognised_or_that_is_told(cordial, tables, texts):
    """By whole numbers, too; labels of a fit without names of texts count as new."""
    readings, labels = (pl.read_csv(path) for path in tables)
    logits = readings[:, 1:].to_numpy()
    labels.select(pl.col("item_id").str.strip_prefix("text "), "label").write_csv("l.csv")
    readings.with_columns(pl.col("item_id").str.strip_prefix("text ")).write_csv("r.csv")
    fitted = cp.LogitStack(list("12345")).fit(logits[:LABELLED], labels["label"], texts=texts)
    fitted.save("own.cordial")
    looks = "monitor", "own.cordial", "r.csv", "r.csv", "--labels", "l.csv"
    if texts is None:
        said = cordial(*looks).stderr
        assert "does not name its training texts, so all labels in l.csv" in said
    else:
        assert "all labelled texts were used in the fit" in cordial(*looks, status=2).stderr


def test_predictions_of_a_judge_that_leaves_more_texts_unread(cordial, tables):
    """A warning beside the count, with the labels on such texts that predictions rest on."""
    table = pl.read_csv(tables[0])
    blank = pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.col("^logit_.*$"))
    for share, rows in ((0.0, table), (0.5, table.with_columns(blank))):
        rows.write_csv("some.csv")
        result = cordial("predict", "j.cordial", "some.csv", "-o", "out.csv", "-q")
        assert ("50% of the texts" in result.stderr) == ("0 labels" in result.stderr) == bool(share)
