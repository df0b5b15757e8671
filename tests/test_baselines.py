"""Calibrators without posterior beside the paper's three: their objectives, optima and ends."""

import json
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression
from statsmodels.miscmodels.ordinal_model import OrderedModel

from cordial_ppl.calibrators import CALIBRATORS
from cordial_ppl.calibrators.crossvalidation import FOLDS, cross_validate, spread_folds
from cordial_ppl.calibrators.dirichlet import (
    INTERCEPTS,
    OFF_DIAGONALS,
    Dirichlet,
    fit_dirichlet,
)
from cordial_ppl.calibrators.odds import DECADES, fit_odds
from cordial_ppl.calibrators.regression import ELEMENTS, fit_softmax

FOLDER = Path(__file__).parent / "reference"
REFERENCE = json.loads((FOLDER / "baselines.json").read_text())
SHARED = json.loads((FOLDER / "calibrators.json").read_text())
LOGITS, LABELS = np.array(SHARED["logits"]), np.array(SHARED["labels"])
TEST = np.array(SHARED["test_logits"])
NAMES = ("raw", "batch", "odds-cv", "dirichlet")


def fitter(name):
    return CALIBRATORS[name].fit


def predictor(name):
    return CALIBRATORS[name].log_probs


def centred(logits):
    return logits - logits.mean(axis=1, keepdims=True)


@jax.jit
def dirichlet_loss(params, logits, labels, penalty):
    """The penalised loss of Dirichlet calibration, written anew and without the ridge."""
    size, seen = logits.shape[1], labels >= 0
    scores = jax.nn.log_softmax(logits, axis=1) @ params.weights.T + params.bias[None]
    own = jax.nn.log_softmax(scores, axis=1)[jnp.arange(len(labels)), labels]
    mean = jnp.sum(jnp.where(seen, own, 0.0)) / jnp.sum(seen, dtype=own.dtype)
    off = jnp.sum(params.weights**2) - jnp.sum(jnp.diag(params.weights) ** 2)
    penalties = penalty[0] / (size * (size - 1)) * off
    return -mean + penalties + penalty[1] / size * jnp.sum(params.bias**2)


DIRICHLET_SLOPES = jax.jit(jax.value_and_grad(dirichlet_loss))


def both(off_diagonal, intercept):
    return np.array([off_diagonal, intercept])


def test_an_independent_implementation_predicts_the_same():
    raw = np.exp(predictor("raw")(fitter("raw")(LOGITS, LABELS), TEST))
    np.testing.assert_allclose(raw, SHARED["raw"], rtol=0, atol=1e-8)
    batch = np.exp(predictor("batch")(fitter("batch")(LOGITS, LABELS), TEST))
    np.testing.assert_allclose(batch, REFERENCE["batch"], rtol=0, atol=1e-8)
    held = REFERENCE["dirichlet"]
    x = np.array(held["x"])
    params, penalty = Dirichlet(x[:25].reshape(5, 5), x[25:]), both(held["lam"], held["mu"])
    probs = np.exp(predictor("dirichlet")(params, TEST))
    np.testing.assert_allclose(probs, held["probs"], rtol=0, atol=1e-8)
    loss, slopes = DIRICHLET_SLOPES(params, LOGITS, LABELS, penalty)
    assert float(loss) == pytest.approx(held["obj"], abs=1e-8)
    found = jnp.concatenate([slopes.weights.ravel(), slopes.bias])
    np.testing.assert_allclose(found, held["grad"], rtol=0, atol=1e-8)


def test_an_independent_implementation_fits_the_same():
    held = REFERENCE["dirichlet_fit"]
    penalty = both(held["lam"], held["mu"])
    params = fit_dirichlet(LOGITS, LABELS, penalty)
    probs = np.exp(predictor("dirichlet")(params, TEST))
    np.testing.assert_allclose(probs, held["probs"], rtol=0, atol=held["tol"])
    loss = dirichlet_loss(params, LOGITS, LABELS, penalty)
    assert float(loss) == pytest.approx(held["obj"], abs=1e-8)
    held = SHARED["odds_fit"]
    own = predictor("odds")(fitter("odds")(LOGITS, LABELS), TEST)
    np.testing.assert_allclose(np.exp(own), REFERENCE["odds_fit_probs"], atol=held["tol"])


def test_softmax_regression_is_logistic_regression():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(200, 3))
    labels = np.argmax(features @ rng.normal(size=(3, 4)) + rng.gumbel(size=(200, 4)), axis=1)
    theirs = LogisticRegression(C=1 / (200 * 0.02), tol=1e-10, max_iter=2000, fit_intercept=False)
    expected = theirs.fit(features, labels).coef_
    shared, chosen = features.T[None, None], np.eye(4)[labels].T[None]
    found = fit_softmax(shared, chosen, np.full((1, 4, 3), 0.02), np.zeros((4, 3)))
    np.testing.assert_allclose(found[0], expected, atol=1e-6)


def test_many_fits_are_taken_in_parts():
    """Whether one at a time or all together, and whether readings are shared or repeated."""
    rng = np.random.default_rng(3)
    features, penalty = rng.normal(size=(1, 1, 3, 500)), np.full((1, 4, 3), 0.02)
    chosen = np.eye(4)[rng.integers(0, 4, (80, 500))].swapaxes(1, 2)
    assert chosen.size * 3 > ELEMENTS
    together = fit_softmax(features, chosen, penalty, np.zeros((4, 3)))
    repeated = np.repeat(features, 80, axis=0), np.repeat(penalty, 80, axis=0)
    again = fit_softmax(repeated[0], chosen, repeated[1], np.zeros((4, 3)))
    np.testing.assert_allclose(again, together, rtol=0, atol=1e-9)
    last = fit_softmax(features, chosen[79:], penalty, np.zeros((4, 3)))
    np.testing.assert_allclose(together[79:], last, rtol=0, atol=1e-9)


@pytest.mark.parametrize("off_diagonal, intercept", [(1e-4, 1e-3), (0.01, 10.0), (10.0, 0.1)])
def test_dirichlet_is_where_a_general_optimiser_ends(off_diagonal, intercept):
    penalty = both(off_diagonal, intercept)

    def loss(x):
        params = Dirichlet(x[:25].reshape(5, 5), x[25:])
        value, slopes = DIRICHLET_SLOPES(params, LOGITS, LABELS, penalty)
        return float(value), np.concatenate([np.ravel(own) for own in slopes])

    start = np.concatenate([np.eye(5).ravel(), np.zeros(5)])
    theirs = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    ours = fit_dirichlet(LOGITS, LABELS, penalty, ridge=1e-12)
    x = np.concatenate([ours.weights.ravel(), ours.bias])
    assert loss(x)[0] <= float(theirs.fun) + 1e-9
    assert loss(x)[0] == pytest.approx(float(theirs.fun), abs=1e-5)


def test_dirichlet_of_two_classes_is_logistic_regression():
    rng = np.random.default_rng(1)
    logits = centred(2.0 * rng.normal(size=(400, 2)))
    logs = log_softmax(logits, axis=1)
    labels = (rng.random(400) < 1 / (1 + np.exp(-(0.3 + 0.6 * (logs[:, 1] - logs[:, 0]))))) * 1
    theirs = LogisticRegression(C=1e9, tol=1e-12, max_iter=5000).fit(logs, labels)
    ours = fit_dirichlet(logits, labels, both(1e-9, 1e-9), ridge=1e-9)
    probs = np.exp(predictor("dirichlet")(ours, logits))
    np.testing.assert_allclose(probs, theirs.predict_proba(logs), atol=1e-5)


def test_ample_labels_ask_for_a_weak_penalty_and_give_an_ordered_logit():
    rng = np.random.default_rng(2)
    logits = centred(rng.normal(size=(400, 4)))
    latent = 3.0 * logits @ [-1.0, -0.3, 0.4, 0.9] + rng.logistic(size=400)
    labels = np.digitize(latent, [-3.0, 0.6, 4.5])
    columns = logits[:, 1:] - logits[:, :1]
    model = OrderedModel(labels, columns, distr="logit")
    theirs = model.fit(method="newton", disp=False, maxiter=100).predict(columns)
    params = fitter("odds-cv")(logits, labels)
    np.testing.assert_allclose(np.exp(predictor("odds")(params, logits)), theirs, atol=0.03)


def held_out_loss(fit, log_probs, setting):
    """Cross-validated log loss in a plain loop over the folds."""
    folds, losses = np.asarray(spread_folds(LABELS)), []
    for fold in range(FOLDS):
        out = folds == fold
        logs = np.asarray(log_probs(fit(LOGITS, np.where(out, -1, LABELS), setting), LOGITS))
        losses.append(-np.maximum(logs[out, LABELS[out]], np.log(1e-4)))
    return np.concatenate(losses).sum()


def test_the_chosen_odds_are_the_best_of_a_loop_over_the_grid():
    def run(logits, labels, c):
        return fit_odds(logits, labels, c * np.count_nonzero(labels >= 0))

    scores = [held_out_loss(run, predictor("odds"), c) for c in DECADES]
    best = run(LOGITS, LABELS, DECADES[int(np.argmin(scores))])
    found = fitter("odds-cv")(LOGITS, LABELS)
    np.testing.assert_allclose(found.weights, best.weights, rtol=1e-6, atol=1e-8)


def test_the_chosen_dirichlet_is_the_best_of_a_loop_over_the_grid():
    grid = [both(lam, mu) for lam in OFF_DIAGONALS for mu in INTERCEPTS]
    scores = [held_out_loss(fit_dirichlet, predictor("dirichlet"), penalty) for penalty in grid]
    best = fit_dirichlet(LOGITS, LABELS, grid[int(np.argmin(scores))])
    found = fitter("dirichlet")(LOGITS, LABELS)
    np.testing.assert_allclose(found.weights, best.weights, rtol=1e-5, atol=1e-6)


def test_ties_go_to_the_strongest_and_every_setting_is_one_call():
    calls = []

    class Setting(NamedTuple):
        value: np.ndarray

    def fit(logits, labels, setting):
        calls.append((labels.shape, setting.shape))
        return Setting(np.broadcast_to(setting, labels.shape[:-1]))

    def log_probs(setting, logits):
        value = setting.value[..., None, None]
        good = (value > 1.5) & (value < 4.5)
        return np.where(good, -1.0, -2.0) * np.ones_like(logits)

    grid = np.arange(1.0, 7.0)
    assert cross_validate(fit, log_probs, LOGITS, LABELS, grid).value == 4.0
    assert calls == [((6, FOLDS + 1, 30), (6, 1))]
    nothing = cross_validate(fit, log_probs, LOGITS, np.stack([LABELS, 0 * LABELS - 1]), grid)
    np.testing.assert_array_equal(nothing.value, [4.0, 6.0])


@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_folds_are_balanced_random_and_blind_to_hidden_texts(count, seed):
    rng = np.random.default_rng(seed)
    folds = np.asarray(
        spread_folds(np.pad(np.zeros(count, int), (0, 64 - count), constant_values=-1))
    )
    assert (folds[count:] == -1).all()
    sizes = np.bincount(folds[:count], minlength=FOLDS)
    assert sizes.sum() == count and sizes.max() - sizes.min() <= 1
    hidden = np.full(64, -1)
    places = np.sort(rng.permutation(64)[:count])
    hidden[places] = rng.integers(0, 5, count)
    np.testing.assert_array_equal(np.asarray(spread_folds(hidden))[places], folds[:count])


@st.composite
def samples(draw):
    """Logits of as many texts, soft to saturated; labels of some, of few or all classes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, size = LOGITS.shape
    scale = draw(st.sampled_from([0.0, 1.0, 60.0]))
    logits = scale * centred(np.clip(rng.normal(size=(rows, size)), -1.0, 1.0))
    labels = rng.choice(rng.permutation(size)[: draw(st.integers(1, size))], rows)
    labels = logits.argmax(axis=1) if draw(st.booleans()) else labels
    labels[rng.permutation(rows)[draw(st.integers(0, rows)) :]] = -1
    return logits, labels


@given(samples())
@settings(max_examples=40)
def test_every_fit_is_finite_and_predicts_probabilities(drawn):
    logits, labels = drawn
    for name in NAMES:
        params = fitter(name)(logits, labels)
        assert all(np.isfinite(p).all() for p in params)
        predicted = np.asarray(predictor(name)(params, logits))
        assert np.isfinite(predicted).all()
        np.testing.assert_allclose(np.exp(predicted).sum(axis=1), 1.0, rtol=1e-9)


@given(samples(), st.sampled_from([1e-4, 0.01, 10.0]), st.sampled_from([1e-3, 10.0]))
@settings(max_examples=60)
def test_dirichlet_ends_where_the_gradient_vanishes(drawn, off_diagonal, intercept):
    logits, labels = drawn
    penalty = both(off_diagonal, intercept)
    params = fit_dirichlet(logits, labels, penalty)
    if (labels < 0).all():
        np.testing.assert_allclose(params.weights, np.eye(5), atol=1e-9)
        return
    _, slopes = DIRICHLET_SLOPES(params, logits, labels, penalty)
    ridge = 1e-6 * np.diag(np.diag(params.weights) - 1.0)
    np.testing.assert_allclose(slopes.weights + ridge, 0.0, atol=1e-7)
    np.testing.assert_allclose(slopes.bias, 0.0, atol=1e-7)


@given(samples())
@settings(max_examples=30)
def test_padding_changes_nothing(drawn):
    logits, labels = drawn
    kept = np.where(labels[:, None] >= 0, logits, 0.0)
    for name in NAMES:
        whole = predictor(name)(fitter(name)(logits, labels), logits)
        padded = predictor(name)(fitter(name)(kept, labels), logits)
        np.testing.assert_allclose(padded, whole, rtol=1e-6, atol=1e-6)


def test_order_changes_nothing_where_there_are_no_folds():
    order = np.random.default_rng(3).permutation(len(LABELS))
    penalty = both(0.01, 0.1)
    whole, shuffled = (
        fit_dirichlet(x, z, penalty) for x, z in ((LOGITS, LABELS), (LOGITS[order], LABELS[order]))
    )
    np.testing.assert_allclose(shuffled.weights, whole.weights, rtol=1e-7, atol=1e-8)
    fit_batch = fitter("batch")
    batch = fit_batch(LOGITS[order], LABELS)
    np.testing.assert_allclose(batch.bias, fit_batch(LOGITS, LABELS).bias, rtol=1e-12)


def test_dirichlet_follows_the_names_of_the_options():
    """Renaming the options renames rows and columns of the weights."""
    order = np.array([3, 0, 4, 1, 2])
    penalty = both(0.01, 0.1)
    whole = fit_dirichlet(LOGITS, LABELS, penalty)
    renamed = fit_dirichlet(LOGITS[:, order], np.argsort(order)[LABELS], penalty)
    expected = np.asarray(whole.weights)[np.ix_(order, order)]
    np.testing.assert_allclose(renamed.weights, expected, rtol=1e-6, atol=1e-7)


def test_batch_calibration_takes_out_the_mean():
    fit_batch = fitter("batch")
    params = fit_batch(LOGITS, LABELS)
    stated = softmax(LOGITS, axis=1)
    np.testing.assert_allclose(np.exp(-params.bias), stated.mean(axis=0), rtol=1e-12)
    shifted = LOGITS + np.array([[0.0, 3.0, 0.0, 0.0, 0.0]])
    same = np.where(np.arange(30) < 10, 0, -1)
    first = fit_batch(LOGITS, same)
    np.testing.assert_allclose(first.bias, fit_batch(LOGITS[:10], LABELS[:10]).bias, rtol=1e-12)
    assert params.bias[1] > fit_batch(shifted, LABELS).bias[1]


@pytest.mark.parametrize("name", NAMES)
def test_batched_is_looped(name):
    folds = np.stack([np.where(np.arange(30) % 4 == fold, -1, LABELS) for fold in range(5)])
    folds[3, 1:] = -1
    readings = np.stack([LOGITS, 3.0 * LOGITS[::-1]])[:, None]
    together = fitter(name)(readings, folds[None])
    predicted = predictor(name)(together, readings)
    assert predicted.shape == (2, 5, 30, 5)
    for place in np.ndindex(2, 5):
        alone = fitter(name)(readings[place[0], 0], folds[place[1]])
        for many, one in zip(together, alone, strict=True):
            np.testing.assert_allclose(many[place], one, rtol=1e-6, atol=1e-6)
        logs = predictor(name)(alone, readings[place[0], 0])
        np.testing.assert_allclose(predicted[place], logs, rtol=1e-6, atol=1e-6)
