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
    content = json.loads(again)
    assert sum(content["decisions"].values()) == TEXTS - LABELLED == TEXTS - content["labelled"]
    told = cordial("decide", *tables, *COSTS, "-o", "filled.csv", status=2).stderr
    assert "filled.csv already holds" in told and "give filled.csv as LABELS" in told
    # As many labels as before, of other texts, are not those of before.
    cells["label"] = [star if row < LABELLED else None for row, star in enumerate(cells["label"])]
    write_table("precious.csv", cells)
    told = cordial("decide", *tables, *COSTS, "-o", "precious.csv", status=2).stderr
    assert "precious.csv already holds 20 labels" in told
    # Chosen texts that nobody labelled leave others to stand for them.
    told = cordial("estimate", tables[0], "precious.csv", "-q").stderr
    assert "rows with a probability, whose texts were chosen, have no label" in told
    # Labels of texts that were chosen as doubtful are no check.
    again = cordial("decide", tables[0], "filled.csv", *COSTS).stdout
    assert "Out of fold" not in again and "Out of fold" in result.stdout


@pytest.mark.parametrize("wide", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_labels_of_several_annotators_come_back(cordial, tables, wide):
    ids, stars = [f"text {row}" for row in range(LABELLED)], STARS[:LABELLED]
    cells = {"item_id": ids, "ann": stars, "bea": stars[::-1]}
    names = ("--label", "ann,bea")
    if not wide:
        people = ["ann"] * LABELLED + ["bea"] * LABELLED
        cells = {"item_id": ids * 2, "annotator": people, "label": stars + stars[::-1]}
        names = ()
    write_table("several.csv", cells)
    first = cordial("decide", tables[0], "several.csv", *names, *COSTS, "-o", "out.csv").stdout
    assert cordial("decide", tables[0], "out.csv", *COSTS).stdout == first
    assert {"ann", "bea"} < {*read("out.csv")["annotator"]}


def test_without_an_audit_labels_say_nothing_of_the_rest(cordial, tables):
    settings = *COSTS[:-2], "--audit", 0, "-o", "a.csv"
    told = cordial("decide", *tables, *settings).stderr
    assert "without an audit nobody sees" in told and "as an audit." not in told
    cells = read("a.csv")
    cells["label"] = [
        STARS[int(item.split()[1])] if chance else None
        for item, chance in zip(cells["item_id"], cells["probability"], strict=True)
    ]
    write_table("seen.csv", cells)
    assert "had no chance of one" in cordial("estimate", tables[0], "seen.csv").stderr


def test_texts_that_all_have_labels_leave_nothing_to_decide(cordial, tables):
    cells = {name: column[:LABELLED] for name, column in read(tables[0]).items()}
    write_table("few.csv", cells)
    result = cordial("decide", "few.csv", tables[1], *COSTS, "--figure", "f.svg", "-o", "f.csv")
    assert result.stdout == "all 20 texts have labels, which decide.\n"
    assert "f.svg is not drawn" in result.stderr and "nothing is to be labelled" in result.stderr


def test_messages_name_options(cordial, tables):
    def complain(*settings):
        return cordial("decide", *tables, *settings, status=2).stderr

    assert "to be kept: --agree 0.9." in complain("--pass", "4,5")
    assert "Name them, such as: --pass 4,5." in complain("--pass", "4-5", "--person", 1)
    wrong = "--within", 1, "--false-pass", 2, "--person", 1
    assert "--false-pass and --within exclude each other" in complain(*wrong)
    assert "--agree" in complain("--pass", 5, "--agree", "90%")
    assert "--within: it must be a whole number" in complain("--within", "1.5", "--person", 1)


def test_an_agreement(cordial, tables):
    kept = cordial("decide", *tables, "--within", 1, "--agree", ".8", "--level", ".6").stdout
    assert "The agreement of 0.8 is kept with a probability of" in kept and "cost" not in kept
    cordial("decide", *tables, "--within", 1, "--agree", ".8", "-o", "k.csv")
    assert "cost" not in read("k.csv")
    # Labels that have nothing to do with the readings leave no text sure.
    write_table("odd.csv", {"item_id": read(tables[1])["item_id"], "label": [*"12345"] * 4})
    impossible = "--within", 0, "--agree", "1", "--level", ".999"
    none = cordial("decide", tables[0], "odd.csv", *impossible).stdout
    assert "No share of the texts keeps an agreement of 1: people decide all." in none


def test_labels_that_are_split_go_into_no_table(cordial, tables):
    cells = read(tables[1])
    write_table("between.csv", cells | {"label": ["3.5", *cells["label"][1:]]})
    settings = *COSTS, "--round", "split", "-o", "out.csv"
    told = cordial("decide", tables[0], "between.csv", *settings, status=2).stderr
    assert "--round split makes two labels of one" in told
