"""`cordial shift`: a table of users' labels goes in, what each would say comes out."""

from pathlib import Path
from unicodedata import normalize

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
    page = (Path(__file__).parents[2] / "docs" / "people.md").read_text("utf-8")
    described = {"p_<option>" if name[:2] == "p_" else name for name in found} - {"input_mean"}
    assert all(f"`{name}`" in page for name in described)
    found = as_json(*arguments)
    # -.7, sd .13 over 20 draws of reviews, and lower than the next by 1.0, sd .3.
    assert found["shifts"]["user 2"] == min(found["shifts"].values()) < 0 < found["spread"]
    assert found["labels_of"] == {"user 0": 7, "user 1": 7, "user 2": 6}
    assert found["log_loss_in_order"] != found["log_loss_population"]


def test_weights_count_in_the_fit_and_in_the_log_losses(as_json, files):
    """A weight of 2 counts as two labels, in what earlier labels tell and in both losses."""
    weights = np.where(np.arange(LABELLED) % 3 == 2, 2.0, 0.1)
    write_table(files[1], {**read(files[1]), "weight": weights})
    found = as_json(*fast("shift", *files, "-o", "o.csv"))
    given, codes = [str(z) for z in read(files[1])["label"]], np.array(read(files[1])["label"], int)
    logits = read_readings(files[0]).logits[:LABELLED]
    calibrator = cp.Cordial([*"12345"], inference="mode").fit(logits, given, sample_weight=weights)
    rated = calibrator.fit_.out_of_fold, given, USERS[:LABELLED]
    shifts = cp.UserShift([*"12345"]).fit(*rated, sample_weight=weights)
    in_order, _ = shifts.predict_in_order(*rated, afresh=True, sample_weight=weights)
    for name, probs in (("population", rated[0]), ("in_order", in_order)):
        losses = cp.scores.log_loss(np.asarray(probs), codes - 1, per_text=True)
        assert found[f"log_loss_{name}"] == pytest.approx(np.average(losses, weights=weights))


def test_a_calibrator_of_other_labels(cordial, files, tmp_path):
    cordial(*fast("fit", *write_tables(tmp_path, "jsonl"), "-o", "j.cordial"))
    given = "--calibrator", "j.cordial"
    cordial("shift", *files, "-o", "o.csv", *given)
    population = cp.load("j.cordial").predict_proba(read_readings(files[0]).logits)
    labels = [str(z) for z in read(files[1])["label"]]
    shifts = cp.UserShift([*"12345"]).fit(population[:LABELLED], labels, USERS[:LABELLED])
    expected = shifts.predict_proba(population, USERS)
    np.testing.assert_allclose(read_probabilities("o.csv"), expected, rtol=0, atol=1e-9)
    cordial(*fast("fit", *write_tables(tmp_path, "jsonl"), "-o", "j.cordial", "--judge", "A"))
    told = cordial("shift", *files, "-o", "o.csv", *given, "--judge", "B").stderr
    assert "judge 'B' instead of 'A'" in told


@pytest.fixture
def pairs(tmp_path):
    """A row for each text and user, and labels of two of three users of a text."""
    rng = np.random.default_rng(4)
    texts = rng.choice(3, 30)
    rows = [(f"q{i}", f"ü{u}") for i in range(30) for u in range(3)]
    probs = np.full((3, 5), 0.1) + 0.5 * np.eye(3, 5)
    cells = {f"p_{k + 1}": probs[np.repeat(texts, 3), k] for k in range(5)}
    readings = {"item_id": [item for item, _ in rows], "user": [user for _, user in rows], **cells}
    told = [row for row in range(90) if (row + row // 3) % 3]
    labels = np.minimum(texts[[row // 3 for row in told]] + 1 + [row % 3 == 2 for row in told], 3)
    write_table(tmp_path / "r.csv", readings)
    given = {"item_id": [rows[row][0] for row in told], "user": [rows[row][1] for row in told]}
    write_table(tmp_path / "l.csv", given | {"label": labels})
    return readings, given | {"label": labels.tolist()}


def test_a_row_for_each_text_and_user(cordial, as_json, pairs):
    """Rows are told apart by text and user, however accents are written and columns called."""
    readings, labels = pairs
    found = as_json(*fast("shift", "r.csv", "l.csv", "-o", "o.csv"))
    assert found["texts"] == 90 and found["labels"] == 60
    assert set(found["labels_of"].values()) == {20}
    assert max(found["shifts"], key=found["shifts"].get) == "ü2"
    out = read("o.csv")
    assert (out["item_id"], out["user"]) == (readings["item_id"], readings["user"])
    spelt = [normalize("NFD", user) for user in labels["user"]]
    write_table("l2.csv", {"item_id": labels["item_id"], "who": spelt, "label": labels["label"]})
    renamed = {"rater" if name == "user" else name: cells for name, cells in readings.items()}
    write_table("r2.csv", renamed)
    said = cordial("shift", "r2.csv", "l2.csv", "-o", "o.csv", status=2).stderr
    assert "--user rater." in said
    named = "--user", "rater", "--annotator", "who"
    cordial(*fast("shift", "r2.csv", "l2.csv", "-o", "p.csv", *named))
    means = (np.array(read(name)["mean"], float) for name in ("o.csv", "p.csv"))
    np.testing.assert_allclose(*means, rtol=0, atol=1e-9)


def test_a_text_and_user_stand_once(cordial, pairs):
    readings, labels = pairs
    doubled = {name: [*cells, cells[4]] for name, cells in readings.items()}
    write_table("r.csv", doubled)
    said = cordial(*fast("shift", "r.csv", "l.csv", "-o", "o.csv"), status=2).stderr
    assert "lines 6 and 92" in said and "--reader" not in said
    write_table("r.csv", readings)
    write_table("l.csv", {name: cells for name, cells in labels.items() if name != "user"})
    assert (
        "--annotator" in cordial(*fast("shift", "r.csv", "l.csv", "-o", "o.csv"), status=2).stderr
    )


def test_no_column_is_taken_for_users_by_its_name(cordial, pairs):
    """A judge and a column with a value of its own in each row are no users."""
    readings, _ = pairs
    cells = {name: [*map(str, cells[::3])] for name, cells in readings.items() if name != "user"}
    write_table("r.csv", cells | {"reader": ["gpt"] * 30, "author": [f"a{i}" for i in range(30)]})
    said = cordial("shift", "r.csv", "l.csv", "-o", "o.csv", status=2).stderr
    assert "--user COLUMN." in said
