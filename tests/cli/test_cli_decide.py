"""`cordial decide`: its table goes to people and comes back as labels."""

import json

import numpy as np
import pytest
from review_tables import LABELLED, TEXTS, read, write_tables

from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.tables import write_table

STARS = [str(label + 1) for label in reviews(TEXTS, seed=3).labels]
COSTS = "--pass", "4,5", "--false-pass", 5, "--person", 0.5, "--audit", 0.3


@pytest.fixture
def tables(tmp_path):
    others = {"decision": ["theirs"] * TEXTS, "stratum": [0] * TEXTS}
    return write_tables(tmp_path, **others)


def test_a_table_for_people_that_estimate_takes_back(cordial, tables):
    result = cordial("decide", *tables, *COSTS, "-o", "d.csv", "--figure", "d.svg")
    cells = read("d.csv")
    header = ["item_id", "input_decision", "input_stratum"]
    assert list(cells) == [*header, "decision", "cost", "p_wrong", "probability", "label"]
    count = cells["label"].index(next(filter(None, cells["label"])))
    assert f"wrote d.csv: fill in the label of the first {count} texts, " in result.stderr
    assert (
        "Expected of the 40 texts without a label" in result.stdout
        and "wrote d.svg" in result.stderr
    )
    chances = np.array([float(cell or "nan") for cell in cells["probability"]])
    seen = ~np.isnan(chances)
    assert seen.tolist() == sorted(seen, reverse=True) and sum(seen) == count + LABELLED
    assert np.sum(1 / chances[seen]) == pytest.approx(TEXTS)
    cells["label"] = [
        STARS[int(item.split()[1])] if row < sum(seen) else None
        for row, item in enumerate(cells["item_id"])
    ]
    write_table("filled.csv", cells)
    told = cordial("estimate", tables[0], "filled.csv")
    assert f"{sum(seen)} of 60 texts are labelled" in told.stdout
    assert "weighed by 1 / column" in told.stdout and "warning: decision" not in told.stderr
    # What people have filled in is not replaced; the labels of before may be.
    again = cordial("decide", *tables, *COSTS, "-o", "d.csv", "--json").stdout
    assert sum(json.loads(again)["decisions"].values()) == TEXTS
    told = cordial("decide", *tables, *COSTS, "-o", "filled.csv", status=2).stderr
    assert "filled.csv already holds" in told and "give filled.csv as LABELS" in told


def test_an_agreement(cordial, tables):
    kept = cordial("decide", *tables, "--within", 1, "--agree", ".8", "--level", ".6").stdout
    assert "The agreement of 0.8 is kept with a probability of" in kept and "cost" not in kept
    impossible = "--within", 0, "--agree", "1", "--level", ".999"
    none = cordial("decide", tables[0], tables[1], *impossible).stdout
    assert "No share of the texts keeps an agreement of 1: people decide all." in none
