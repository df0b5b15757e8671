"""`--update`: labels that come in for a calibrator from a file."""

import json
from pathlib import Path

import numpy as np
import pytest
from review_tables import LABELLED, read, write_tables

import cordial_ppl as cp
from cordial_ppl.cli.options import Chosen, Fitting, Labelling
from cordial_ppl.cli.updating import update_calibrator
from cordial_ppl.stack.fingerprints import find_places
from cordial_ppl.tables import write_table

KNOWN = 12


@pytest.fixture
def tables(cordial, tmp_path):
    """Readings, all labels in another order, and a calibrator fitted to the first twelve."""
    readings, labels = write_tables(tmp_path, reader_model=["a"] * 60)
    cells = read(labels)
    write_table("few.csv", {name: column[:KNOWN] for name, column in cells.items()})
    write_table("all.csv", {name: column[::-1] for name, column in cells.items()})
    cordial("fit", readings, "few.csv", "-o", "few.cordial", "--seed", 3, "--quiet")
    return readings, "all.csv"


def test_rows_and_groups_are_in_the_order_of_the_fit(cordial, tmp_path):
    readings, labels = write_tables(tmp_path, who=[f"text {i}" for i in range(60)])
    cells = read(labels)
    write_table("few.csv", {name: column[:KNOWN] for name, column in cells.items()})
    write_table("all.csv", {name: column[::-1] for name, column in cells.items()})
    cordial("fit", readings, "few.csv", "-o", "few.cordial", "--quiet")
    table, _, rows, groups, fitted = update_calibrator(
        Path("few.cordial"), readings, Path("all.csv"), Chosen(), Labelling(), Fitting(), True
    )
    assert fitted.labels_ is not None
    places = find_places(table.logits[rows], fitted.labels_, fitted.seen_)
    np.testing.assert_array_equal(places, np.arange(LABELLED))
    assert groups["who"] == [table.item_ids[row] for row in rows]


def test_fit_and_calibrate_update(cordial, tables):
    readings, labels = tables
    update = "--update", "few.cordial"
    done = cordial("fit", *tables, *update, "-o", "all.cordial")
    assert "8 labels of 20 new to few.cordial" in done.stderr
    assert "a calibrator fitted on 20 labels" in done.stderr
    found = cp.load("all.cordial")
    assert found.seed == 3 and found.expected_.labels == LABELLED
    assert found.provenance_ == {"model": ["a"]}
    cordial("calibrate", *tables, *update, "-o", "o.csv", "--quiet")
    cordial("predict", "all.cordial", readings, "-o", "p.csv", "--quiet")
    assert Path("o.csv").read_bytes() == Path("p.csv").read_bytes()
    cordial("calibrate", *tables, "--seed", 4, "-o", "anew.csv", "--quiet")
    means = [np.array(read(name)["mean"], float) for name in ("o.csv", "anew.csv")]
    np.testing.assert_allclose(*means, rtol=0, atol=0.15)
    # In place, and with nothing new.
    before = Path("all.cordial").read_bytes()
    done = cordial("fit", *tables, "--update", "all.cordial", "-o", "all.cordial", "--json")
    assert json.loads(done.stdout)["labels"] == LABELLED
    assert Path("all.cordial").read_bytes() == before


def test_what_cannot_be_updated(cordial, tables):
    readings, labels = tables
    cells = read(labels)

    def complain(*arguments, labels=labels):
        update = "--update", "few.cordial", "-o", "all.cordial"
        result = cordial("fit", readings, labels, *update, *arguments, status=2)
        assert not Path("all.cordial").exists()
        assert result.stderr.count("\n") == 1
        return result.stderr

    assert "keeps the settings of few.cordial: leave out --prior" in complain("--prior", "own")
    write_table("new.csv", {name: column[:8] for name, column in cells.items()})
    said = complain(labels="new.csv")
    assert "few.cordial: the calibrator was fitted to 12 labelled texts, and 12 of them" in said
    assert "--options names 3 options" in complain("--options", "1,2,3")
    wrong = {name: column for name, column in read(readings).items() if name != "logit_5"}
    write_table("four.csv", wrong)
    update = "--update", "few.cordial", "-o", "all.cordial"
    said = cordial("fit", "four.csv", labels, *update, status=2).stderr
    assert "four.csv" in said and "5" in said and said.count("\n") == 1


def test_readings_of_another_model_are_pointed_out(cordial, tables, tmp_path):
    readings, labels = tables
    cells = read(readings) | {"reader_model": ["b"] * 60}
    write_table("b.csv", cells)
    said = cordial("fit", "b.csv", labels, "--update", "few.cordial", "-o", "b.cordial").stderr
    assert "model 'b' where the calibrator knows 'a'" in said


def test_a_further_annotator_is_of_the_same_texts(cordial, tmp_path):
    readings, labels = write_tables(tmp_path)
    cells = read(labels)
    items, stars = cells["item_id"], cells["label"]

    def write(name, people):
        rows = {"item_id": items * len(people), "label": stars * len(people)}
        write_table(name, rows | {"annotator": [who for who in people for _ in items]})

    write("two.csv", ["a", "b"])
    write("three.csv", ["a", "b", "c"])
    cordial("fit", readings, "two.csv", "-o", "two.cordial", "--quiet")
    update = "--update", "two.cordial"
    cordial("fit", readings, "three.csv", *update, "-o", "three.cordial", "--quiet")
    found = cp.load("three.cordial")
    assert found.texts_ is not None and found.sample_weight_ is not None
    assert found.folds_ is not None
    assert len(found.labels_) == 3 * LABELLED and found.expected_.labels == LABELLED
    np.testing.assert_allclose(found.sample_weight_, 1 / 3)
    for text in np.unique(found.texts_):
        assert len(np.unique(found.folds_[found.texts_ == text])) == 1
