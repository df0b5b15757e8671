"""Calibrators without a posterior: their objectives, their optima, and labels at their limits."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from golden import read_golden
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, log_softmax
from statsmodels.miscmodels.ordinal_model import OrderedModel

from cordial_ppl.stack.calibrators import CALIBRATORS
from cordial_ppl.stack.calibrators.dirichlet import GRID, Dirichlet, fit_dirichlet
from cordial_ppl.stack.calibrators.odds import DECADES, Odds, fit_odds, odds_log_probs
from cordial_ppl.stack.calibrators.samples import FOLDS, as_samples, spread_folds
from cordial_ppl.stack.calibrators.scaling import (
    HIGHEST,
    LOWEST,
    Vector,
    fit_vector,
    vector_log_probs,
)

SHARED = read_golden("calibrators")
BASELINES = read_golden("baselines")
LOGITS, LABELS = np.array(SHARED["logits"]), np.array(SHARED["labels"])
TEST, ROWS = np.array(SHARED["test_logits"]), len(LABELS)
NAMES = [name for name in CALIBRATORS if name not in ("concatenated", "full", "full-vector")]
FEW = settings().max_examples // 6
WEAK, STRONG = np.array([1e-4, 1e-3]), np.array([10.0, 0.1])


def fitter(name) -> Any:
    return CALIBRATORS[name].fit


def log_probs(name, params, logits):
    return CALIBRATORS[name].log_probs(params, logits)


def centred(logits):
    return logits - logits.mean(axis=1, keepdims=True)


@st.composite
def samples(draw, sizes=(2, 5, 11), scales=(0.0, 0.1, 3.0, 60.0)):
    """Logits of 30 texts and labels for 1 to 30 of them, of one class, of some, or of all."""
    size = draw(st.sampled_from(sizes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    noise = np.clip(rng.normal(size=(ROWS, size)), -1.0, 1.0)
    noise = noise if draw(st.booleans()) else np.tile(noise[:1], (ROWS, 1))
    logits = centred(draw(st.sampled_from(scales)) * noise)
    labels = rng.choice(rng.permutation(size)[: draw(st.integers(1, size))], ROWS)
    labels = logits.argmax(axis=1) if draw(st.booleans()) else labels
    labels[rng.permutation(ROWS)[draw(st.integers(1, ROWS)) :]] = -1
    return logits, labels


def objective(name, params, logits, labels, penalty):
    """The penalised loss that each fit minimises, written anew; Dirichlet's with its ridge."""
    seen = labels >= 0
    n, size = jnp.sum(seen, dtype=logits.dtype), logits.shape[1]
    pull = 0.0
    if name == "odds":
        edges = params.thresholds[None] - (logits @ params.weights)[:, None]
        above = jnp.pad(jax.nn.log_sigmoid(edges), ((0, 0), (0, 1)))
        below = jnp.pad(jax.nn.log_sigmoid(-edges), ((0, 0), (1, 0)))
        between = jnp.pad(jnp.log(-jnp.expm1(-jnp.diff(params.thresholds))), 1)
        logs = above + below + between[None]
        gaps = jnp.sum(jnp.log(jnp.diff(params.thresholds)) ** 2)
        pull = 50.0 / n * jnp.sum(params.weights**2)
        pull += 0.5e-3 * (params.thresholds[0] ** 2 / 9.0 + gaps)
    elif name == "vector":
        logs = jax.nn.log_softmax(params.weights[None] * logits + params.bias[None], axis=1)
        pull = 0.5e-3 * (jnp.sum((params.weights - 1.0) ** 2) + jnp.sum(params.bias**2))
    else:
        scores = jax.nn.log_softmax(logits, axis=1) @ params.weights.T + params.bias[None]
        logs, diagonal = jax.nn.log_softmax(scores, axis=1), jnp.diag(params.weights)
        off = jnp.sum(params.weights**2) - jnp.sum(diagonal**2)
        pull = penalty[0] / (size * (size - 1)) * off + 0.5e-6 * jnp.sum((diagonal - 1.0) ** 2)
        pull += penalty[1] / size * jnp.sum(params.bias**2)
    own = jnp.take_along_axis(logs, jnp.where(seen, labels, 0)[:, None], axis=1)[:, 0]
    return -jnp.sum(jnp.where(seen, own, 0.0)) / n + pull


VALUE = jax.jit(objective, static_argnums=0)
GRADIENT: Any = jax.jit(jax.grad(objective, argnums=1), static_argnums=0)


@given(samples(sizes=(2, 5)), st.sampled_from([WEAK, STRONG]))
@settings(max_examples=FEW)
def test_a_fit_ends_where_the_gradient_vanishes(drawn, penalty):
    for name in ("vector", "odds", "dirichlet"):
        dirichlet = name == "dirichlet"
        found = fit_dirichlet(*drawn, None, penalty) if dirichlet else fitter(name)(*drawn)  # pyright: ignore
        for component in GRADIENT(name, found, *drawn, penalty):
            np.testing.assert_allclose(component, 0.0, atol=1e-7)


def test_temperature_at_its_bounds():
    logits = centred(np.random.default_rng(0).normal(size=(ROWS, 5)))
    right, wrong = logits.argmax(axis=1), logits.argmin(axis=1)
    assert fitter("temperature")(logits, right).temperature == pytest.approx(LOWEST)
    assert fitter("temperature")(logits, wrong).temperature == pytest.approx(HIGHEST)
    assert fitter("temperature")(np.zeros((ROWS, 5)), right).temperature == 1.0


@given(samples(sizes=(2, 5)))
@settings(max_examples=FEW)
def test_every_fit_is_finite_and_ignores_unlabelled_texts(drawn):
    logits, labels = drawn
    kept = np.where(labels[:, None] >= 0, logits, 0.0)
    for name in NAMES:
        params = fitter(name)(logits, labels)
        assert all(np.all(np.isfinite(p)) for p in params)
        predicted = log_probs(name, params, logits)
        assert predicted.shape == logits.shape and np.all(np.isfinite(predicted))
        np.testing.assert_allclose(np.exp(predicted).sum(axis=1), 1.0, rtol=1e-9)
        padded = log_probs(name, fitter(name)(kept, labels), logits)
        np.testing.assert_allclose(padded, predicted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("size", [2, 5])
def test_without_labels_nothing_is_changed(size):
    logits = centred(np.random.default_rng(1).normal(size=(ROWS, size)))
    none = np.full(ROWS, -1)
    assert fitter("temperature")(logits, none).temperature == 1.0
    for name in ("vector", "raw", "batch", "dirichlet"):
        found = log_probs(name, fitter(name)(logits, none), logits)
        np.testing.assert_allclose(found, log_softmax(logits, axis=1), atol=1e-9)
    for name in ("odds", "odds-cv", "histogram"):
        found = log_probs(name, fitter(name)(logits, none), logits)
        np.testing.assert_allclose(np.exp(found), 1.0 / size)


@pytest.mark.parametrize("name", NAMES)
def test_batched_is_looped(name):
    """Labels of five folds, and two readings of the texts, or one, with the labels of each fold."""
    folds = np.stack([np.where(np.arange(30) % 4 == fold, -1, LABELS) for fold in range(5)])
    folds[3, 1:] = -1
    readings, folds = np.stack([LOGITS, 3.0 * LOGITS[::-1]])[:, None], folds[None]
    if CALIBRATORS[name].grid is not None:
        together = fitter(name)(LOGITS, folds)
        readings = LOGITS[None, None]
    else:
        together = fitter(name)(readings, folds)
    predicted = log_probs(name, together, readings)
    assert predicted.shape == (len(readings), 5, 30, 5)
    for place in np.ndindex(predicted.shape[:2]):
        alone = fitter(name)(readings[place[0], 0], folds[0, place[1]])
        for many, one in zip(together, alone, strict=True):
            np.testing.assert_allclose(many[place], one, rtol=1e-6, atol=1e-6)
        logs = log_probs(name, alone, readings[place[0], 0])
        np.testing.assert_allclose(predicted[place], logs, rtol=1e-6, atol=1e-6)


def test_unpenalised_odds_is_an_ordered_logit():
    rng = np.random.default_rng(4)
    logits = centred(rng.normal(size=(2000, 4)))
    latent = logits @ [-1.0, -0.3, 0.4, 0.9] + rng.logistic(size=2000)
    labels = np.digitize(latent, [-1.0, 0.2, 1.5])
    # Centred logits have one column too many for a model without a penalty.
    columns = logits[:, 1:] - logits[:, :1]
    theirs = OrderedModel(labels, columns, distr="logit").fit(
        method="newton", disp=False, maxiter=100
    )
    ours = log_probs("odds", fit_odds(as_samples(logits, labels), 1e-9, ridge=1e-12), logits)
    np.testing.assert_allclose(np.exp(ours), theirs.predict(columns), atol=1e-6)


@given(st.sampled_from([2, 5, 11]), st.integers(0, 2**32 - 1))
def test_odds_differences_do_not_cancel(size, seed):
    rng = np.random.default_rng(seed)
    thresholds = np.sort(40.0 * rng.normal(size=size - 1))
    logits, weights = centred(rng.normal(size=(6, size))), 30.0 * rng.normal(size=size)
    ours = odds_log_probs(Odds(thresholds, weights), logits)
    assert np.all(np.isfinite(ours))
    edges = thresholds[None] - (logits @ weights)[:, None]
    below = np.hstack([np.zeros((6, 1)), expit(edges), np.ones((6, 1))])
    np.testing.assert_allclose(np.exp(ours), np.diff(below, axis=1), atol=1e-12)
    mirrored = odds_log_probs(Odds(-thresholds[::-1], -weights), logits)
    np.testing.assert_allclose(mirrored[:, ::-1], ours, rtol=1e-9, atol=1e-9)


def test_an_independent_implementation_fits_the_same():
    tau = fitter("temperature")(LOGITS, LABELS).temperature
    assert tau == pytest.approx(SHARED["temperature_fit"]["tau"], abs=1e-6)
    held = SHARED["vector_fit"]
    found = np.concatenate(fit_vector(as_samples(LOGITS, LABELS), ridge=0.05))
    np.testing.assert_allclose(found, held["x"], atol=held["tol"])
    odds, held = fitter("odds")(LOGITS, LABELS), SHARED["odds_fit"]
    gaps = np.log(np.diff(odds.thresholds))
    found = np.concatenate([odds.thresholds[:1], gaps, odds.weights])
    np.testing.assert_allclose(found, held["x"], atol=held["tol"])
    held = BASELINES["dirichlet_fit"]
    params = fit_dirichlet(LOGITS, LABELS, None, np.array([held["lam"], held["mu"]]))
    probs = np.exp(log_probs("dirichlet", params, TEST))
    np.testing.assert_allclose(probs, held["probs"], rtol=0, atol=held["tol"])


def test_an_independent_implementation_predicts_the_same():
    def check(found, expected):
        np.testing.assert_allclose(np.exp(found), expected, rtol=0, atol=1e-8)

    x = np.array(SHARED["vector"]["x"])
    check(vector_log_probs(Vector(x[:5], x[5:]), TEST), SHARED["vector"]["probs"])
    x = np.array(SHARED["odds"]["x"])
    odds = Odds(x[0] + np.concatenate([[0.0], np.cumsum(np.exp(x[1:4]))]), x[4:])
    check(odds_log_probs(odds, TEST), SHARED["odds"]["probs"])
    loss = float(VALUE("odds", odds, LOGITS, LABELS, WEAK))
    assert loss == pytest.approx(SHARED["odds"]["half_mean"]["obj"], abs=1e-10)
    check(log_probs("raw", fitter("raw")(LOGITS, LABELS), TEST), SHARED["raw"])
    check(log_probs("batch", fitter("batch")(LOGITS, LABELS), TEST), BASELINES["batch"])
    x = np.array(BASELINES["dirichlet"]["x"])
    params = Dirichlet(x[:25].reshape(5, 5), x[25:])
    check(log_probs("dirichlet", params, TEST), BASELINES["dirichlet"]["probs"])


@pytest.mark.parametrize(
    ("name", "fit", "grid"),
    [
        (
            "odds-cv",
            lambda x, z, penalty: fit_odds(as_samples(x, z), penalty * (z >= 0).sum()),
            DECADES,
        ),
        ("dirichlet", lambda x, z, c: fit_dirichlet(x, z, None, c), GRID),
    ],
)
def test_the_chosen_penalty_is_the_best_of_a_loop_over_the_grid(name, fit, grid):
    folds, losses = spread_folds(LABELS), np.zeros(len(grid))
    for place, setting in enumerate(grid):
        for fold in range(FOLDS):
            out = folds == fold
            logs = log_probs(name, fit(LOGITS, np.where(out, -1, LABELS), setting), LOGITS)
            losses[place] -= np.maximum(logs[out, LABELS[out]], np.log(1e-4)).sum()
    best = fit(LOGITS, LABELS, grid[int(np.argmin(losses))])
    for found, own in zip(fitter(name)(LOGITS, LABELS), best, strict=True):
        np.testing.assert_allclose(found, own, rtol=1e-5, atol=1e-6)


TIMES = np.random.default_rng(3).integers(0, 4, ROWS)


@pytest.mark.float32
@pytest.mark.parametrize("name", CALIBRATORS)
def test_a_weight_is_so_many_labels_of_a_text(name):
    """Also 0, whose text is as if it had no label, and 1, which changes no bit."""
    calibrator, folds = CALIBRATORS[name], spread_folds(LABELS)
    seen = np.repeat(np.arange(ROWS), TIMES)
    more = {
        "weighed": (np.where(TIMES > 0, LABELS, -1), TIMES.astype(float), folds),
        "plain": (LABELS, np.ones(ROWS), folds),
        "none": (LABELS,),
    }
    found = {kind: calibrator.fit(LOGITS, *own) for kind, own in more.items()}
    shuffled = np.random.default_rng(0).permutation(len(seen))
    for rows in (seen, seen[shuffled]):
        expected = calibrator.fit(LOGITS[rows], LABELS[rows], np.ones(len(rows)), folds[rows])
        for part in range(len(expected)):
            np.testing.assert_allclose(found["weighed"][part], expected[part], rtol=1e-5, atol=1e-6)
    for part in range(len(expected)):
        np.testing.assert_array_equal(found["plain"][part], found["none"][part])


@pytest.mark.parametrize("name", NAMES)
def test_labels_that_are_less_than_one_in_all(name):
    rows, weights = np.repeat([0, 1], 2), np.array([0.25, 0.05, 0.1, 0.1])
    found = fitter(name)(LOGITS[rows], np.array([0, 1, 4, 3]), weights)
    logs = log_probs(name, found, TEST)
    assert np.isfinite(logs).all()
    if name == "histogram":
        expected = (1 + np.array([0.25, 0.05, 0, 0.1, 0.1])) / 5.5
        np.testing.assert_allclose(np.exp(logs[0]), expected)
    if name == "temperature":  # It has no penalty, and no unit of the weights.
        expected = fitter(name)(LOGITS[rows], np.array([0, 1, 4, 3]), 8 * weights)
        np.testing.assert_allclose(found.temperature, expected.temperature, rtol=1e-9)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60), st.integers(0, 99))
def test_no_text_is_in_two_folds_of_a_setting(texts, seed):
    rng, own = np.random.default_rng(seed), np.array(texts)
    labels = rng.integers(-1, 3, len(own))
    folds, seen = spread_folds(labels, own), labels >= 0
    assert ((folds >= 0) == seen).all()
    pairs = set(zip(own[seen].tolist(), folds[seen].tolist(), strict=True))
    assert len(pairs) == len(np.unique(own[seen]))
    assert not pairs or np.ptp(np.bincount([f for _, f in pairs], minlength=FOLDS)) <= 1
    np.testing.assert_array_equal(spread_folds(labels, np.arange(len(own))), spread_folds(labels))
