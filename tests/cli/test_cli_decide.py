"""`cordial decide`: its table goes to people and comes back as labels."""

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


def fill(name, asked):
    """Give true labels to the rows of a table of decisions that are asked for."""
    cells = read("d.csv")
    rows = zip(cells["item_id"], asked, strict=True)
    cells["label"] = [STARS[int(item.split()[1])] if one else None for item, one in rows]
    write_table(name, cells)


def test_a_table_for_people_that_estimate_takes_back(cordial, refused, as_json, tables):
    made = as_json("decide", *tables, *COSTS, "-o", "d.csv", "--figure", "d.svg")
    assert sum(made["decisions"].values()) == TEXTS - LABELLED == TEXTS - made["labelled"]
    cells = read("d.csv")
    header = ["item_id", "input_decision", "input_stratum"]
    assert list(cells) == [*header, "decision", "cost", "p_wrong", "probability", "label"]
    count = cells["label"].index(next(filter(None, cells["label"])))
    assert count == made["to_label"] and made["checked"] is not None
    chances = np.array([float(cell or "nan") for cell in cells["probability"]])
    seen = ~np.isnan(chances)
    assert seen.tolist() == sorted(seen, reverse=True) and sum(seen) == count + LABELLED
    assert np.sum(1 / chances[seen]) == pytest.approx(TEXTS)
    fill("filled.csv", seen)
    told = as_json("estimate", tables[0], "filled.csv")
    assert told["verdict"]["labels"] == sum(seen) and "'probability'" in told["design"]
    # Labels of texts that were chosen as doubtful are no check.
    assert as_json("decide", tables[0], "filled.csv", *COSTS)["checked"] is None
    # What people have filled in is not replaced; the labels of before may be, and as many labels
    # of other texts are not those of before.
    as_json("decide", *tables, *COSTS, "-o", "d.csv")
    fill("precious.csv", np.arange(TEXTS) < LABELLED)
    for name in ("filled.csv", "precious.csv"):
        refused(f"{name}|output, and pass {name} as LABELS", "decide", *tables, *COSTS, "-o", name)
    write_table("noted.csv", read(tables[1]) | {"annotator": ["ann"] * LABELLED})
    refused("noted.csv|'annotator'", "decide", *tables, *COSTS, "-o", "noted.csv")
    # Chosen texts that nobody labelled leave others to stand for them.
    assert "probability" in cordial("estimate", tables[0], "precious.csv", "-q").stderr


def test_labels_keep_their_weights(as_json, tables):
    """A label of a weight counts as much when the table comes back, and a new one counts once."""
    ids, weights = [f"text {row}" for row in range(LABELLED)], [1.0, 0.25] * (LABELLED // 2)
    write_table("w.csv", {"item_id": ids, "label": STARS[:LABELLED], "weight": weights})
    first = as_json("decide", tables[0], "w.csv", *COSTS, "-o", "out.csv")
    cells = read("out.csv")
    found = dict(zip(cells["item_id"], map(float, cells["weight"]), strict=True))
    assert found == dict.fromkeys(found, 1.0) | dict(zip(ids, weights, strict=True))
    assert as_json("decide", tables[0], "out.csv", *COSTS) == first


def test_labels_of_several_annotators_come_back(as_json, tables):
    ids, stars = [f"text {row}" for row in range(LABELLED)], STARS[:LABELLED]
    write_table("several.csv", {"item_id": ids, "ann": stars, "bea": stars[::-1]})
    names = "--label", "ann,bea"
    first = as_json("decide", tables[0], "several.csv", *names, *COSTS, "-o", "out.csv")
    assert as_json("decide", tables[0], "out.csv", *COSTS) == first
    assert {"ann", "bea"} < {*read("out.csv")["annotator"]}


def test_without_an_audit_labels_say_nothing_of_the_rest(cordial, tables):
    told = cordial("decide", *tables, *COSTS[:-2], "--audit", 0, "-o", "d.csv").stderr
    cells = read("d.csv")
    pairs = zip(cells["decision"], cells["label"], strict=True)
    alone = sum(decision != "person" and not label for decision, label in pairs)
    assert f"warning: without an audit, {alone} texts will stay" in told and "--audit 0" in told
    fill("seen.csv", cells["probability"])
    assert "no chance" in cordial("estimate", tables[0], "seen.csv").stderr


def test_texts_that_all_have_labels_leave_nothing_to_decide(cordial, tables, tmp_path):
    cells = {name: column[:LABELLED] for name, column in read(tables[0]).items()}
    write_table("few.csv", cells)
    result = cordial("decide", "few.csv", tables[1], *COSTS, "--figure", "f.svg", "-o", "f.csv")
    assert "20" in result.stdout and "f.svg" in result.stderr
    assert read("f.csv")["label"] == STARS[:LABELLED] and not (tmp_path / "f.svg").exists()


@pytest.mark.pinned
def test_an_agreement(as_json, tables):
    kept = as_json(
        "decide", *tables, "--within", 1, "--agree", ".8", "--level", ".6", "-o", "k.csv"
    )
    assert kept["agree"] == 0.8 and kept["kept"] >= 0.6 and "cost" not in read("k.csv")
    none = as_json("decide", *tables, "--within", 0, "--agree", "1", "--level", ".999")["decisions"]
    assert none["person"] == sum(none.values())
