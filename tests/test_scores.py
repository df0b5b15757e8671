"""Scores are their plain loops, and refuse what cannot be scored."""

import math
from inspect import unwrap

import numpy as np
import pytest
from golden import read_golden
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn import metrics

import cordial_ppl as cp
from cordial_ppl.evaluation.scoring import saturated_readings
from cordial_ppl.stack.calibrators.samples import as_samples
from cordial_ppl.stack.calibrators.scaling import fit_vector, vector_log_probs

ANALYSES = read_golden("analyses")


@st.composite
def predictions(draw):
    """Random probabilities, sharp or flat, and labels, for K from 2 to 11."""
    size, n = draw(st.integers(2, 11)), draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    probs = rng.dirichlet(np.full(size, draw(st.sampled_from([0.05, 1.0, 20.0]))), n)
    return probs, rng.integers(0, size, n)


@given(predictions())
def test_log_loss_and_rps_are_their_plain_loops(drawn):
    probs, labels = drawn
    losses, ranked = [], []
    for p, z in zip(probs, labels, strict=True):
        losses.append(-math.log(max(p[z], 1e-4)))
        ranked.append(
            sum((sum(p[: t + 1]) - (1.0 if z <= t else 0.0)) ** 2 for t in range(len(p) - 1))
        )
    np.testing.assert_allclose(cp.scores.log_loss(probs, labels, per_text=True), losses)
    np.testing.assert_allclose(cp.scores.rps(probs, labels, per_text=True), ranked, atol=1e-12)
    assert cp.scores.log_loss(probs, labels) == pytest.approx(np.mean(losses))
    assert cp.scores.rps(probs, labels) == pytest.approx(np.mean(ranked), abs=1e-12)
    certain = np.eye(probs.shape[1])[labels]
    assert cp.scores.log_loss(certain, labels) == cp.scores.rps(certain, labels) == 0
    assert cp.scores.accuracy(certain, labels) == 1
    assert cp.scores.mean_absolute_error(certain, labels) == 0


@given(predictions())
def test_kappa_and_mean_error_are_those_of_scikit_learn(drawn):
    probs, labels = drawn
    best, options = probs.argmax(axis=1), np.arange(probs.shape[1])
    constant = np.ptp(best) == 0 or np.ptp(labels) == 0
    settings = {"labels": options, "weights": "quadratic"}
    kappa = 0.0 if constant else metrics.cohen_kappa_score(labels, best, **settings)
    assert cp.scores.quadratic_weighted_kappa(probs, labels) == pytest.approx(kappa, abs=1e-12)
    error = metrics.mean_absolute_error(labels, probs @ options)
    assert cp.scores.mean_absolute_error(probs, labels) == pytest.approx(error)


@given(predictions(), st.integers(0, 2**32 - 1))
def test_class_weighted_kl_is_its_plain_loop_and_vanishes_on_the_histograms(drawn, seed):
    probs, labels = drawn
    n, size = probs.shape
    stated = np.random.default_rng(seed).integers(0, size, n)
    total, exact = 0.0, np.empty_like(probs)
    for c in set(stated):
        rows = stated == c
        observed = np.bincount(labels[rows], minlength=size) / rows.sum()
        exact[rows] = observed
        for h, p in zip(observed, probs[rows].mean(axis=0), strict=True):
            total += rows.mean() * h * math.log(h / max(p, 1e-4)) if h > 0 else 0.0
    assert cp.scores.class_weighted_kl(probs, labels, stated) == pytest.approx(total, abs=1e-12)
    assert cp.scores.class_weighted_kl(exact, labels, stated) == pytest.approx(0, abs=1e-12)


def test_reversals_crossover_and_differences_by_hand():
    rows = np.array([[0.8, 0.1, 0.1], [0.1, 0.6, 0.3], [0.14, 0.1, 0.76], [0.0, 0.2, 0.8]])
    assert cp.scores.reversals(rows).tolist() == [False, False, False]
    assert cp.scores.reversals(rows, tolerance=0.03).tolist() == [False, True, False]
    assert cp.scores.reversals(rows[::-1]).tolist() == [True, True, True]
    assert cp.scores.crossover(30, 5, 0.018) == pytest.approx(694.444444444)
    assert cp.scores.crossover(30, 5, 0.009) == 2 * cp.scores.crossover(30, 5, 0.018)
    assert cp.scores.crossover(30, 5, 0.0) == math.inf
    with pytest.raises(cp.InputError, match="d_u=5, d_s=30"):
        cp.scores.crossover(5, 30, 0.01)
    # Without the types that tests check.
    with pytest.raises(cp.InputError, match="d_u='30', d_s=5"):
        unwrap(cp.scores.crossover)("30", 5, 0.01)
    with pytest.raises(cp.InputError, match="seed must be a whole number .* got 'a'"):
        unwrap(cp.scores.paired_bootstrap)(np.ones((3, 7)), seed="a")
    with pytest.raises(cp.InputError, match="delta=nan"):
        cp.scores.crossover(30, 5, math.nan)
    found = cp.scores.paired_bootstrap(np.full((3, 7), -1.5), draws=50)
    np.testing.assert_allclose(found, -1.5, atol=1e-12)
    ends = np.array([(0.1, 0.2), (-0.2, -0.1), (-0.1, 0.1)]).T
    assert cp.scores.Interval(0, *ends).resolved.tolist() == [True, True, False]
    table = cp.scores.means_given_stated(np.eye(3)[[0, 2, 2]], np.array([0, 2, 2]))
    np.testing.assert_array_equal(table, [[1, 0, 0], [np.nan] * 3, [0, 0, 1]])


@pytest.mark.parametrize(
    ("probs", "labels", "message"),
    [
        ([0.5, 0.5], [0], "shape"),
        (np.empty((0, 2)), [], "n >= 1"),
        ([[1.0]], [0], "K >= 2"),
        ([[0.5, 0.5], [0.3333, 0.6666]], [0, 1], "row 1. Divide each row by its sum.$"),
        ([[1.5, -0.5]], [0], "non-negative.* If these are logits, .* with a softmax first.$"),
        ([[np.nan, 1.0]], [0], "finite.* row 0. Remove rows without a prediction.$"),
        ([[0.0, 0.0]], [0], "row 0. Remove rows without a prediction.$"),
        ([["a", "b"]], [0], "numbers"),
        ([[0.5, 0.5]], [0, 1], "labels must have one entry for each of 1 texts"),
        ([[0.5, 0.5]], [3], "0..1; found 3 in row 0.$"),
        ([[0.5, 0.5]] * 2, [1, 2], "found 2 in row 1. Pass positions: 0 .* to 1 for the last.$"),
        ([[0.5, 0.5]] * 2, ["bad", "good"], "'good' in row 1. Pass positions: 0 for the first"),
        ([[0.5, 0.5]], [0.5], "0.5"),
    ],
)
@pytest.mark.parametrize(
    "score",
    [
        cp.scores.log_loss,
        cp.scores.rps,
        cp.scores.accuracy,
        cp.scores.quadratic_weighted_kappa,
        cp.scores.mean_absolute_error,
        lambda probs, labels: cp.scores.class_weighted_kl(probs, labels, labels),
    ],
)
def test_bad_input_is_refused_by_every_score(score, probs, labels, message):
    with pytest.raises(cp.InputError, match=message):
        score(probs, labels)


def test_wrong_weights_are_called_as_the_setting_is():
    probs, labels = [[0.5, 0.5]] * 2, [0, 1]
    for weights, message in (
        ([1, -1], "^weights must be between 0 .* found -1 in row 1"),
        ([0, 0], "^weights must contain a positive weight"),
        ([1], "^weights must have one entry"),
        (["a", "b"], "^weights must be numbers"),
    ):
        with pytest.raises(cp.InputError, match=message):
            cp.scores.accuracy(probs, labels, weights)


def test_the_interval_of_texts_and_subsets_is_that_of_resampling_one_by_one(monkeypatch):
    rng = np.random.default_rng(2)
    differences = rng.normal(size=(5, 1)) + rng.normal(size=(1, 40)) + rng.normal(size=(5, 40))
    plain = [
        differences[np.ix_(rng.integers(0, 5, 5), rng.integers(0, 40, 40))].mean()
        for _ in range(10_000)
    ]
    ours = cp.scores.paired_bootstrap(differences, level=0.8)
    np.testing.assert_allclose(ours[1:], np.quantile(plain, [0.1, 0.9]), atol=0.05)
    monkeypatch.setattr(cp.scores, "CHUNK", 40 * 999)
    pieces = cp.scores.paired_bootstrap(differences, level=0.8)
    np.testing.assert_allclose(ours, pieces, atol=0.05)


def test_saturated_readings_and_their_reversals_match_the_reference():
    readings = saturated_readings(np.array(ANALYSES["logits"]) + 3.0)
    np.testing.assert_allclose(readings, ANALYSES["saturated"], atol=1e-12)
    labels = np.array(ANALYSES["fitted_labels"])
    vector = fit_vector(as_samples(np.array(ANALYSES["logits"]), labels))
    predictions = np.exp(vector_log_probs(vector, readings))
    np.testing.assert_allclose(predictions, ANALYSES["predictions"], atol=1e-5)
    assert cp.scores.reversals(predictions).tolist() == ANALYSES["reversed"]
    ordered = softmax(readings, axis=1)
    assert not cp.scores.reversals(ordered).any() and cp.scores.reversals(ordered[::-1]).all()


@pytest.mark.parametrize(
    ("score", "message"),
    [
        *(
            (lambda floor=floor: cp.scores.log_loss([[0.5, 0.5]], [0], floor=floor), "floor must")
            for floor in (0.0, 1.0, -1e-4, math.nan)
        ),
        *(
            (lambda c=stated: cp.scores.class_weighted_kl([[0.5, 0.5]], [0], c), "stated must")
            for stated in ([0, 1], [2], ["high"])
        ),
        (
            lambda: cp.scores.paired_bootstrap(np.array([[0.0, np.nan]])),
            "non-finite values: 1",
        ),
        (lambda: cp.scores.paired_bootstrap(np.zeros((0, 3))), r"got shape \(0, 3\)"),
        (lambda: cp.scores.paired_bootstrap(np.zeros((1, 3)), level=1.0), "level must"),
        (lambda: cp.scores.paired_bootstrap(np.zeros((1, 3)), draws=0), "draws must be"),
    ],
)
def test_an_argument_that_cannot_be_used_is_named(score, message):
    with pytest.raises(cp.InputError, match=message):
        score()
