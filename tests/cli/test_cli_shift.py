"""`cordial shift`: a table of users' labels goes in, what each would say comes out."""

from pathlib import Path

import numpy as np
import pytest
from review_tables import LABELLED, TEXTS, fast, read, read_probabilities, write_tables

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


def test_users_are_told_apart(cordial, as_json, files):
    """As the functions do; a user without labels gets the population's prediction."""
    users = [*USERS[:-1], "nobody"]
    write_table(files[0], {**read(files[0]), "user": users})
    arguments = "shift", *files, "-o", "o.csv", "--inference", "mode", "--seed", 4
    result = cordial(*arguments)
    assert all(f"user {k}" in result.stdout for k in range(3))
    table, given = read_readings(files[0]), [str(z) for z in read(files[1])["label"]]
    calibrator = cp.Cordial(table.scale, inference="mode", seed=4)
    calibrator.fit(table.logits[:LABELLED], given)
    shifts = cp.UserShift(table.scale).fit(calibrator.fit_.out_of_fold, given, USERS[:LABELLED])
    population = calibrator.predict_proba(table.logits)
    expected = shifts.predict_proba(population, users)
    np.testing.assert_allclose(read_probabilities("o.csv"), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(read_probabilities("o.csv")[-1], population[-1], rtol=0, atol=1e-9)
    found, before = read("o.csv"), read(files[0])
    np.testing.assert_allclose(np.array(found["mean"], float), expected @ np.arange(1, 6))
    assert all(
        int(found["label_low"][i]) <= int(found["label"][i]) <= int(found["label_high"][i])
        for i in range(TEXTS)
    )
    assert found["user"] == users and found["input_mean"] == before["mean"]
    page = (Path(__file__).parents[2] / "docs" / "users.md").read_text("utf-8")
    described = {"p_<option>" if name[:2] == "p_" else name for name in found} - {"input_mean"}
    assert all(f"`{name}`" in page for name in described)
    found = as_json(*arguments)
    # -.7, sd .13 over 20 draws of reviews, and lower than the next by 1.0, sd .3.
    assert found["shifts"]["user 2"] == min(found["shifts"].values()) < 0 < found["spread"]
    assert found["labels_of"] == {"user 0": 7, "user 1": 7, "user 2": 6}
    assert found["log_loss_in_order"] != found["log_loss_population"]


def test_a_calibrator_of_other_labels(cordial, files, tmp_path):
    cordial(*fast("fit", *write_tables(tmp_path, "jsonl"), "-o", "j.cordial"))
    given = "--calibrator", "j.cordial"
    cordial("shift", *files, "-o", "o.csv", *given)
    population = cp.load("j.cordial").predict_proba(read_readings(files[0]).logits)
    labels = [str(z) for z in read(files[1])["label"]]
    shifts = cp.UserShift([*"12345"]).fit(population[:LABELLED], labels, USERS[:LABELLED])
    expected = shifts.predict_proba(population, USERS)
    np.testing.assert_allclose(read_probabilities("o.csv"), expected, rtol=0, atol=1e-9)
