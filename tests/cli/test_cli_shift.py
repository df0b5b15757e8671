"""`cordial shift`: a table of users' labels goes in, what each would say comes out."""

import json
import re
from itertools import takewhile
from pathlib import Path

import numpy as np
import pytest
from review_tables import LABELLED, TEXTS, fast, read, write_tables

import cordial_ppl as cp
from cordial_ppl.tables import read_readings, write_table

USERS = [f"user {i % 3}" for i in range(TEXTS)]


@pytest.fixture
def files(tmp_path):
    """Two users who agree, and one whose labels are a class lower."""
    readings, labels = write_tables(tmp_path, user=USERS, mean=[f"m{i}" for i in range(TEXTS)])
    cells = read(labels)
    lower = [max(int(z) - (i % 3 == 2), 1) for i, z in enumerate(cells["label"])]
    write_table(labels, {**cells, "label": lower, "order": list(range(LABELLED))})
    return readings, labels


def written():
    cells = read("o.csv")
    return np.array([cells[f"p_{k}"] for k in range(1, 6)], float).T


def test_users_are_told_apart(cordial, files):
    """As the functions do; a user without labels gets the population's prediction."""
    users = [*USERS[:-1], "nobody"]
    write_table(files[0], {**read(files[0]), "user": users})
    arguments = "shift", *files, "-o", "o.csv", "--inference", "mode", "--seed", 4
    result = cordial(*arguments)
    assert "3 users: shifts with standard deviation" in result.stdout
    assert "log loss of the labels, out of fold: " in result.stderr
    table, given = read_readings(files[0]), [str(z) for z in read(files[1])["label"]]
    calibrator = cp.Cordial(table.scale, inference="mode", seed=4)
    calibrator.fit(table.logits[:LABELLED], given)
    shifts = cp.UserShift(table.scale).fit(calibrator.fit_.out_of_fold, given, USERS[:LABELLED])
    population = calibrator.predict_proba(table.logits)
    expected = shifts.predict_proba(population, users)
    np.testing.assert_allclose(written(), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(written()[-1], population[-1], rtol=0, atol=1e-9)
    found, before = read("o.csv"), read(files[0])
    np.testing.assert_allclose(np.array(found["mean"], float), expected @ np.arange(1, 6))
    assert all(
        int(found["label_low"][i]) <= int(found["label"][i]) <= int(found["label_high"][i])
        for i in range(TEXTS)
    )
    assert found["user"] == users and found["input_mean"] == before["mean"]
    assert "input_user" not in found
    found = json.loads(cordial(*arguments, "--json").stdout)
    # -.7, sd .13 over 20 draws of reviews, and lower than the next by 1.0, sd .3.
    assert found["shifts"]["user 2"] == min(found["shifts"].values()) < 0 < found["spread"]
    assert found["labels_of"] == {"user 0": 7, "user 1": 7, "user 2": 6}
    assert found["log_loss_in_order"] != found["log_loss_population"]


def test_a_calibrator_of_other_labels(cordial, files, tmp_path):
    cordial(*fast("fit", *write_tables(tmp_path, "jsonl"), "-o", "j.cordial"))
    given = "--calibrator", "j.cordial"
    result = cordial("shift", *files, "-o", "o.csv", *given)
    assert "log loss of the labels, if the calibrator was not fitted to them" in result.stderr
    population = cp.load("j.cordial").predict_proba(read_readings(files[0]).logits)
    labels = [str(z) for z in read(files[1])["label"]]
    shifts = cp.UserShift([*"12345"]).fit(population[:LABELLED], labels, USERS[:LABELLED])
    expected = shifts.predict_proba(population, USERS)
    np.testing.assert_allclose(written(), expected, rtol=0, atol=1e-9)
    result = cordial("shift", *files, "-o", "p.csv", *given, "--prior-of", "offset=0,1", status=2)
    assert "--calibrator is fitted already" in result.stderr
    cells = read(files[0])
    letters = {f"logit_{c}": cells.pop(f"logit_{k}") for k, c in enumerate("abcde", 1)}
    write_table(files[0], {**cells, **letters})
    result = cordial(*fast("shift", *files, "-o", "p.csv", *given), status=2)
    assert "has columns of other options" in result.stderr


def test_the_columns_are_those_of_the_documentation(cordial, files):
    lines = (Path(__file__).parents[2] / "docs" / "users.md").read_text("utf-8").splitlines()
    start = lines.index("| column | |") + 2
    rows = takewhile(lambda line: line.startswith("|"), lines[start:])
    told = [name for row in rows for name in re.findall("`([^`]+)`", row.split("|")[1])]
    place = told.index("p_<option>")
    told[place : place + 1] = [f"p_{k}" for k in range(1, 6)]
    cordial(*fast("shift", *files, "-o", "o.csv"))
    assert [*read("o.csv")] == [*told, "input_mean"]


@pytest.mark.parametrize(
    ("which", "change", "message"),
    [
        (0, {"user": None}, "has no column 'user'; found"),
        (
            0,
            {"user": [*USERS[:-1], ""]},
            "r.csv: every text needs a user; none is named in line 61",
        ),
        (1, {"order": ["soon"] * LABELLED}, "l.csv: order must be finite numbers"),
        (1, {"first": 7}, "7 labels are too few to compare users"),
    ],
)
def test_bad_input(cordial, files, which, change, message):
    cells = read(files[which])
    count = change.pop("first", None)
    cells = {k: v[:count] for k, v in {**cells, **change}.items() if v is not None}
    write_table(files[which], cells)
    result = cordial(*fast("shift", *files, "-o", "o.csv"), status=2)
    assert message in result.stderr
    assert not Path("o.csv").exists()


def test_who_is_known_of_the_labels_is_named_where_the_readings_name_nobody(cordial, files):
    for path, change in zip(
        files, ({"user": None}, {"annotator": ["Ann"] * LABELLED}), strict=True
    ):
        cells = {k: v for k, v in {**read(path), **change}.items() if v is not None}
        write_table(path, cells)
    result = cordial(*fast("shift", *files, "-o", "o.csv"), status=2)
    assert "r.csv has no column 'user'; found" in result.stderr
