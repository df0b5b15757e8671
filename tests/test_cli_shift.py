"""`cordial shift`: a table of users' labels goes in, what each would say comes out."""

import json
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


def test_users_are_told_apart(cordial, files):
    result = cordial("shift", *files, "-o", "o.csv", "--inference", "mode")
    assert "3 users differ by" in result.stdout
    assert "log loss of the labels, out of fold: " in result.stderr
    found = read("o.csv")
    assert found["user"] == USERS and len(found["p_1"]) == TEXTS
    given = read(files[0])
    assert found["input_mean"] == given["mean"] and "input_user" not in found
    found = json.loads(
        cordial("shift", *files, "-o", "o.csv", "--inference", "mode", "--json").stdout
    )
    assert found["shifts"]["user 2"] == min(found["shifts"].values()) < 0
    assert found["labels_of"] == {"user 0": 7, "user 1": 7, "user 2": 6}
    assert found["spread"] > 0
    assert found["log_loss_in_order"] != found["log_loss_population"]


def test_it_is_what_the_functions_say(cordial, files):
    cordial(*fast("shift", *files, "-o", "o.csv", "--seed", 4))
    table, labels = read_readings(files[0]), read(files[1])["label"]
    judge = cp.Cordial(table.scale, inference="mode", seed=4)
    judge.fit(table.logits[:LABELLED], [str(label) for label in labels])
    shifts = cp.UserShift(table.scale)
    given = [str(z) for z in labels]
    shifts.fit(judge.out_of_fold_, given, USERS[:LABELLED])
    expected = shifts.predict_proba(judge.predict_proba(table.logits), USERS)
    found = read("o.csv")
    cells = np.array([found[f"p_{k}"] for k in range(1, 6)], float).T
    np.testing.assert_allclose(cells, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.array(found["mean"], float), expected @ np.arange(1, 6))


def test_order_may_be_dates(cordial, files):
    """The same moments, as numbers and as text, say the same of every earlier label."""
    cells, found = read(files[1]), []
    days = [9 - i // 3 for i in range(LABELLED)]
    for order in (days, [f"2024-01-{day + 1:02}T08:00:00Z" for day in days], None):
        columns = {name: column for name, column in cells.items() if name != "order"}
        write_table(files[1], columns | ({"order": order} if order else {}))
        found.append(json.loads(cordial(*fast("shift", *files, "-o", "o.csv", "--json")).stdout))
    assert found[0] == found[1]
    assert found[0]["log_loss_in_order"] != found[2]["log_loss_in_order"]


def test_a_judge_of_other_labels(cordial, files, tmp_path):
    cordial(*fast("fit", *write_tables(tmp_path, "jsonl"), "-o", "judge.cordial"))
    result = cordial("shift", *files, "-o", "o.csv", "--judge", "judge.cordial")
    assert "log loss of the labels, if the judge has not seen them" in result.stderr
    population = cp.load("judge.cordial").predict_proba(read_readings(files[0]).logits)
    shifts = cp.UserShift([*"12345"])
    given = [str(z) for z in read(files[1])["label"]]
    shifts.fit(population[:LABELLED], given, USERS[:LABELLED])
    found = read("o.csv")
    cells = np.array([found[f"p_{k}"] for k in range(1, 6)], float).T
    expected = shifts.predict_proba(population, USERS)
    np.testing.assert_allclose(cells, expected, rtol=0, atol=1e-9)
    extra = "--judge", "judge.cordial", "--prior-of", "offset=0,1"
    result = cordial("shift", *files, "-o", "p.csv", *extra, status=2)
    assert "--judge is fitted already" in result.stderr


def test_a_new_user_is_one_of_the_population(cordial, files):
    cells = read(files[0])
    write_table(files[0], {**cells, "user": [*USERS[:-1], "nobody"]})
    cordial(*fast("shift", *files, "-o", "o.csv"))
    table = read_readings(files[0])
    judge = cp.Cordial(table.scale, inference="mode")
    judge.fit(table.logits[:LABELLED], [str(z) for z in read(files[1])["label"]])
    found = [float(read("o.csv")[f"p_{k}"][-1]) for k in range(1, 6)]
    np.testing.assert_allclose(found, judge.predict_proba(table.logits)[-1], rtol=0, atol=1e-9)


def test_labels_may_name_their_users(cordial, files):
    cells = read(files[1])
    write_table(files[1], {**cells, "user": ["one"] * LABELLED})
    found = cordial("shift", *files, "-o", "o.csv", "--inference", "mode", "--json").stdout
    assert list(json.loads(found)["shifts"]) == ["one"]


@pytest.mark.parametrize(
    ("which", "change", "message"),
    [
        (0, {"user": None}, "needs a column user: whose label is predicted"),
        (
            0,
            {"user": [*USERS[:-1], ""]},
            "r.csv: every text needs a user; none is named in line 61",
        ),
        (1, {"order": ["soon"] * LABELLED}, "l.csv: order must be numbers that grow with time"),
        (1, {"first": 7}, "7 labels are too few to tell users apart"),
    ],
)
def test_what_is_missing_is_said(cordial, files, which, change, message):
    cells = read(files[which])
    count = change.pop("first", None)
    cells = {k: v[:count] for k, v in {**cells, **change}.items() if v is not None}
    write_table(files[which], cells)
    result = cordial(*fast("shift", *files, "-o", "o.csv"), status=2)
    assert message in result.stderr
    assert not Path("o.csv").exists()


def test_a_judge_of_another_scale(cordial, files):
    cells = read(files[0])
    letters = {f"logit_{c}": cells[f"logit_{k}"] for k, c in enumerate("abcde", 1)}
    ids = cells["item_id"]
    write_table("x.csv", {"item_id": ids, **letters})
    write_table("y.csv", {"item_id": ids[:20], "label": list("abcde") * 4})
    cordial(*fast("fit", "x.csv", "y.csv", "-o", "judge.cordial"))
    result = cordial(*fast("shift", *files, "-o", "o.csv", "--judge", "judge.cordial"), status=2)
    assert "was fitted on the options a, b, c, d, e" in result.stderr
