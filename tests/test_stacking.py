import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from cordial_ppl.stacking import MIN_LABELS, stack_weights

REFERENCE = json.loads((Path(__file__).parent / "reference" / "stacking.json").read_text())


def log_posterior(weights, probs, counts):
    prior = np.sum(np.where(counts > 0.0, counts * np.log(weights), 0.0))
    return np.sum(np.log(probs @ weights)) + prior


@st.composite
def ensembles(draw):
    """Probabilities of 40 labels under 5 members, alike or different, and prior counts."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread = draw(st.sampled_from([0.01, 0.5, 3.0]))
    log_probs = np.maximum(-rng.exponential(1.0, (40, 1)) - spread * rng.random((40, 5)), -9.0)
    return log_probs, np.full(5, draw(st.sampled_from([0.0, 0.1, 1.0])))


@given(ensembles())
def test_no_other_weights_are_likelier(drawn):
    log_probs, counts = drawn
    weights = stack_weights(log_probs, counts)
    assert np.all(weights >= 0.0) and weights.sum() == pytest.approx(1.0, abs=1e-12)
    probs = np.exp(log_probs)
    own = log_posterior(weights, probs, counts)
    total = 40 + counts.sum()
    slopes = (1.0 / (probs @ weights)) @ probs
    slopes = slopes + np.divide(counts, weights, where=counts > 0.0, out=np.zeros(5))
    # The posterior is concave: its excess slope bounds what any other weights could gain.
    assert slopes.max() - total <= 1e-9 * total
    for other in np.eye(5):
        for share in (1e-3, 0.1):
            moved = (1 - share) * weights + share * other
            assert log_posterior(moved, probs, counts) <= own + 1e-9


@pytest.mark.float32
@pytest.mark.parametrize("count", [0.0, 1.0])
def test_texts_of_which_nothing_is_said_and_impossible_labels(count):
    rng = np.random.default_rng(13)
    log_probs = np.log(rng.uniform(0.1, 0.9, (24, 4)))
    mask = rng.random(24) < 0.6
    counts = np.full(4, count)
    alone = stack_weights(log_probs[mask], counts)
    silent = np.where(mask[:, None], log_probs, -np.inf)
    present = np.repeat(mask[:, None], 4, axis=1)
    np.testing.assert_allclose(stack_weights(silent, counts, present=present), alone, atol=1e-12)
    # A member that finds every label impossible keeps what its prior gives it.
    hopeless = np.hstack([log_probs, np.full((24, 1), -np.inf)])
    weights = stack_weights(hopeless, np.full(5, count))
    assert weights[-1] == pytest.approx(count / (24 + 5 * count), abs=2e-3)
    assert np.all(np.isfinite(weights))


def test_few_labels_are_not_believed():
    rng = np.random.default_rng(17)
    log_probs = np.log(rng.uniform(0.1, 0.9, (24, 4)))
    counts = np.zeros(4)
    for n in (0, 1, MIN_LABELS - 1):
        np.testing.assert_array_equal(stack_weights(log_probs[:n], counts), 0.25)
    assert np.ptp(stack_weights(log_probs[:MIN_LABELS], counts)) > 0.01
    favoured = np.array([3.0, 1.0, 0.5, 0.5])
    few = stack_weights(log_probs[: MIN_LABELS - 1], favoured)
    np.testing.assert_allclose(few, favoured / 5.0, rtol=1e-12)


def test_an_independent_implementation_gives_the_same_weights():
    log_probs = np.log(REFERENCE["P"])
    for count, key in ((0.0, "w_alpha1"), (1.0, "w_alpha2")):
        weights = stack_weights(log_probs, np.full(7, count))
        np.testing.assert_allclose(weights, REFERENCE[key], atol=1e-8)


@pytest.mark.x64
def test_members_that_are_missing_are_left_out_of_their_texts():
    rng = np.random.default_rng(1)
    logs, count = np.log(rng.uniform(0.01, 1.0, (30, 4))), np.full(4, 0.5)
    present = rng.random((30, 4)) < 0.6

    def loss(free):
        weights = np.exp(free - free.max())
        weights /= weights.sum()
        some = present.any(axis=1)
        mixed = (present * np.exp(logs))[some] @ weights / (present[some] @ weights)
        return -np.log(mixed).sum() - count @ np.log(weights)

    weights = stack_weights(logs, count, present=present)
    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-8})
    assert loss(np.log(weights)) <= best.fun + 1e-8
    everyone = stack_weights(logs, count, present=np.ones_like(present))
    np.testing.assert_allclose(everyone, stack_weights(logs, count), rtol=0, atol=1e-9)
    present[:, 2] = False
    absent = stack_weights(logs, np.zeros(4), present=present)
    assert absent[2] < 1e-12 and np.isclose(absent.sum(), 1)
