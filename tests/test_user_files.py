"""What was learned of users, on disk: it predicts as before, and a changed file is told."""

import numpy as np
import pytest

import cordial_ppl as cp
from cordial_ppl import storage

RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(5), 40)
LABELS = RNG.integers(0, 5, 40)
WHO = [f"user {row % 7}" for row in range(40)]


@pytest.mark.parametrize("settings", [{}, {"sigma": 0.7}])
def test_what_is_loaded_goes_on_as_what_was_saved(tmp_path, settings):
    names = ["a", "b", "c", "d", "e"]
    saved = cp.UserShift(names, **settings).fit(PROBS, [names[z] for z in LABELS], WHO)
    saved.save(tmp_path / "users.cordial")
    loaded = cp.load(tmp_path / "users.cordial")
    assert type(loaded) is cp.UserShift and loaded.options == tuple(names)
    assert loaded.sigma == saved.sigma
    assert loaded.sigma_ == saved.sigma_ and loaded.counts_ == saved.counts_
    for own in (saved, loaded):
        own.partial_fit(PROBS[:2], ["a", "e"], ["user 1", "new"])
    assert loaded.values_ == saved.values_
    who = [*WHO[:38], "new", "nobody"]
    np.testing.assert_array_equal(loaded.predict_proba(PROBS, who), saved.predict_proba(PROBS, who))
    afresh, _ = loaded.predict_in_order(PROBS, ["a"] * 40, WHO, afresh=True)
    expected, _ = saved.predict_in_order(PROBS, ["a"] * 40, WHO, afresh=True)
    np.testing.assert_array_equal(afresh, expected)


def test_a_number_for_sigma(tmp_path):
    cp.UserShift(sigma=np.float32(0.5)).fit(PROBS, LABELS, WHO).save(tmp_path / "x")
    loaded = cp.load(tmp_path / "x")
    assert loaded.sigma == loaded.sigma_ == 0.5 and loaded.options is None


@pytest.mark.parametrize(
    ("meta", "arrays"),
    [
        ({"users": ["a"] * 7}, {}),
        ({"users": ["a", "b"]}, {}),
        ({"users": list(range(7))}, {}),
        ({"average": "yes"}, {}),
        ({"sigma": -1.0}, {}),
        ({"options": ["0", "1"]}, {}),
        ({}, {"histogram": np.full(5, 0.3)}),
        ({}, {"counts": np.zeros(7, np.int64)}),
        ({}, {"totals": np.zeros((7, 3))}),
        ({}, {"deviations": -np.ones(33)}),
        ({}, {"log_shares": np.zeros(3)}),
        ({}, {"evidence": np.zeros((8, 33))}),
        ({}, {"evidence": np.zeros((7, 2))}),
        ({}, {"more": np.zeros(1)}),
    ],
)
def test_parts_that_do_not_fit_are_told(tmp_path, meta, arrays):
    """Digests and all, as if some other program had written it."""
    path = tmp_path / "users.cordial"
    cp.UserShift().fit(PROBS, LABELS, WHO).save(path)
    found, stored = storage.read(path, "users")
    storage.write(path, "users", found | meta, stored | arrays)
    with pytest.raises(cp.FileError, match="is damaged or was changed"):
        cp.load(path)


def test_nothing_is_saved_before_the_fit(tmp_path):
    with pytest.raises(cp.NotFittedError, match="UserShift is not fitted"):
        cp.UserShift().save(tmp_path / "x")


def test_another_effect_is_neither_saved_nor_loaded(tmp_path):
    class UserWhim(cp.UserShift):
        effect = cp.UserShift.effect._replace(name="whim")

    with pytest.raises(cp.InputError, match="only the shift of UserShift can be saved; got 'whim'"):
        UserWhim().fit(PROBS, LABELS, WHO).save(tmp_path / "x")
    cp.UserShift().fit(PROBS, LABELS, WHO).save(tmp_path / "x")
    found, stored = storage.read(tmp_path / "x", "users")
    storage.write(tmp_path / "x", "users", found | {"effect": "temperature"}, stored)
    with pytest.raises(cp.FileError, match="holds users' temperature, and only a shift can be"):
        cp.load(tmp_path / "x")


def test_a_judge_is_not_users(tmp_path):
    cp.UserShift().fit(PROBS, LABELS, WHO).save(tmp_path / "x")
    with pytest.raises(cp.FileError, match="holds a 'users'; a 'judge' is needed"):
        storage.read(tmp_path / "x", "judge")


def test_what_is_no_file_of_ours_is_told(tmp_path):
    (tmp_path / "x").write_text("no zip")
    with pytest.raises(cp.FileError, match="was not saved by cordial"):
        cp.load(tmp_path / "x")
    with pytest.raises(cp.FileError, match="cannot read"):
        cp.load(tmp_path / "missing")
