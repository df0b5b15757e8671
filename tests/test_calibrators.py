import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from statsmodels.discrete.conditional_models import ConditionalLogit
from statsmodels.miscmodels.ordinal_model import OrderedModel

from cordial_ppl.calibrators import CALIBRATORS
from cordial_ppl.calibrators.odds import Odds, fit_odds, odds_log_probs
from cordial_ppl.calibrators.temperature import HIGHEST, LOWEST, Temperature
from cordial_ppl.calibrators.vector import Vector, fit_vector, vector_log_probs

REFERENCE = json.loads((Path(__file__).parent / "reference" / "calibrators.json").read_text())
LOGITS, LABELS = np.array(REFERENCE["logits"]), np.array(REFERENCE["labels"])
ROWS = len(LABELS)
REGRESSIONS = ("temperature", "vector", "odds")


def fitter(name):
    return CALIBRATORS[name].fit


def log_probs(name, params, logits):
    return CALIBRATORS[name].log_probs(params, logits)


def centred(logits):
    return logits - logits.mean(axis=1, keepdims=True)


@st.composite
def samples(draw, scales=(0.0, 0.1, 3.0, 60.0)):
    """Logits of 30 texts and labels for 1 to 30 of them, of one class, of some, or of all."""
    size = draw(st.sampled_from([2, 5, 11]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = 1 if draw(st.booleans()) and draw(st.booleans()) else ROWS
    noise = np.clip(rng.normal(size=(rows, size)), -1.0, 1.0)
    logits = np.tile(centred(draw(st.sampled_from(scales)) * noise), (ROWS // rows, 1))
    classes = rng.permutation(size)[: draw(st.integers(1, size))]
    labels = rng.choice(classes, ROWS)
    if draw(st.booleans()):
        labels = logits.argmax(axis=1)
    labels[rng.permutation(ROWS)[draw(st.integers(1, ROWS)) :]] = -1
    return logits, labels


def objective(name, params, logits, labels):
    """The penalised loss that each fit minimises, written anew."""
    seen = labels >= 0
    n = jnp.sum(seen, dtype=logits.dtype)
    if name == "odds":
        edges = params.thresholds[None] - (logits @ params.weights)[:, None]
        above = jnp.pad(jax.nn.log_sigmoid(edges), ((0, 0), (0, 1)))
        below = jnp.pad(jax.nn.log_sigmoid(-edges), ((0, 0), (1, 0)))
        between = jnp.pad(jnp.log(-jnp.expm1(-jnp.diff(params.thresholds))), 1)
        logs = above + below + between[None]
    elif name == "vector":
        logs = jax.nn.log_softmax(params.weights[None] * logits + params.bias[None], axis=1)
    else:
        logs = jax.nn.log_softmax(logits / params.temperature, axis=1)
    own = jnp.take_along_axis(logs, jnp.where(seen, labels, 0)[:, None], axis=1)[:, 0]
    loss = -jnp.sum(jnp.where(seen, own, 0.0)) / n
    if name == "vector":
        ridge = jnp.sum((params.weights - 1.0) ** 2) + jnp.sum(params.bias**2)
        return loss + 0.5e-3 * ridge
    if name == "odds":
        gaps = jnp.sum(jnp.log(jnp.diff(params.thresholds)) ** 2)
        weights = 50.0 / n * jnp.sum(params.weights**2)
        return loss + weights + 0.5e-3 * (params.thresholds[0] ** 2 / 9.0 + gaps)
    return loss


VALUE = jax.jit(objective, static_argnums=0)
GRADIENT = jax.jit(jax.grad(objective, argnums=1), static_argnums=0)


@given(samples())
def test_vector_and_odds_end_where_the_gradient_vanishes(drawn):
    logits, labels = drawn
    for name in ("vector", "odds"):
        params = fitter(name)(logits, labels)
        for component in GRADIENT(name, params, logits, labels):
            np.testing.assert_allclose(component, 0.0, atol=1e-7)


@given(samples(), st.integers(0, 2**32 - 1))
def test_no_parameters_nearby_are_better(drawn, seed):
    logits, labels = drawn
    rng = np.random.default_rng(seed)
    for name in ("vector", "odds"):
        params = fitter(name)(logits, labels)
        best = float(VALUE(name, params, logits, labels))
        for scale in (1e-3, 1e-1):
            other = type(params)(
                *(np.asarray(p) * (1.0 + scale * rng.normal(size=p.shape)) for p in params)
            )
            if name == "odds":
                other = Odds(np.sort(other.thresholds), other.weights)
            assert float(VALUE(name, other, logits, labels)) >= best - 1e-10


@given(samples())
def test_every_fit_is_finite_and_predicts_probabilities(drawn):
    logits, labels = drawn
    for name in REGRESSIONS:
        params = fitter(name)(logits, labels)
        assert all(np.all(np.isfinite(p)) for p in params)
        predicted = log_probs(name, params, logits)
        assert predicted.shape == logits.shape and np.all(np.isfinite(predicted))
        np.testing.assert_allclose(np.exp(predicted).sum(axis=1), 1.0, rtol=1e-9)


@given(samples())
def test_temperature_is_where_a_bounded_scalar_search_ends(drawn):
    logits, labels = drawn

    def loss(log_tau):
        params = Temperature(np.exp(log_tau))
        return float(VALUE("temperature", params, logits, labels))

    own = float(np.log(fitter("temperature")(logits, labels).temperature))
    low, high = np.log(LOWEST), np.log(HIGHEST)
    assert low - 1e-12 <= own <= high + 1e-12
    theirs = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-8})
    assert loss(own) <= min(float(theirs.fun), loss(low), loss(high)) + 1e-9


@given(samples(scales=(0.1, 3.0)))
def test_temperature_is_a_stationary_point_or_a_bound(drawn):
    logits, labels = drawn
    tau = fitter("temperature")(logits, labels).temperature
    slope = (
        -float(GRADIENT("temperature", Temperature(tau), logits, labels).temperature)
        * float(tau) ** 2
    )
    if np.isclose(tau, LOWEST):
        assert slope <= 1e-9
    elif np.isclose(tau, HIGHEST):
        assert slope >= -1e-9
    else:
        assert slope == pytest.approx(0.0, abs=1e-11)


def test_temperature_at_its_ends():
    logits = centred(np.random.default_rng(0).normal(size=(ROWS, 5)))
    right, wrong = logits.argmax(axis=1), logits.argmin(axis=1)
    assert fitter("temperature")(logits, right).temperature == pytest.approx(LOWEST)
    assert fitter("temperature")(logits, wrong).temperature == pytest.approx(HIGHEST)
    assert fitter("temperature")(np.zeros((ROWS, 5)), right).temperature == 1.0
    assert fitter("temperature")(60.0 * logits, right).temperature == pytest.approx(LOWEST)


@pytest.mark.parametrize("size", [2, 5])
def test_without_labels_nothing_is_changed(size):
    logits = centred(np.random.default_rng(1).normal(size=(ROWS, size)))
    none = np.full(ROWS, -1)
    assert fitter("temperature")(logits, none).temperature == 1.0
    vector, odds = fitter("vector")(logits, none), fitter("odds")(logits, none)
    np.testing.assert_array_equal(vector.weights, 1.0)
    np.testing.assert_array_equal(vector.bias, 0.0)
    np.testing.assert_allclose(np.exp(log_probs("odds", odds, logits)), 1.0 / size)


@settings(max_examples=25)
@given(samples(scales=(0.1, 3.0)), st.integers(0, 2**32 - 1))
def test_padding_masking_and_order_do_not_matter(drawn, seed):
    logits, labels = drawn
    order = np.random.default_rng(seed).permutation(ROWS)
    kept = np.where(labels[:, None] >= 0, logits, 0.0)
    for name in REGRESSIONS:
        whole = log_probs(name, fitter(name)(logits, labels), logits)
        padded = log_probs(name, fitter(name)(kept, labels), logits)
        shuffled = log_probs(name, fitter(name)(logits[order], labels[order]), logits)
        np.testing.assert_allclose(padded, whole, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(shuffled, whole, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", REGRESSIONS)
def test_batched_is_looped(name):
    """Labels of five folds, and two readings of the texts with the labels of each fold."""
    folds = np.stack([np.where(np.arange(30) % 4 == fold, -1, LABELS) for fold in range(5)])
    folds[3, 1:] = -1
    readings = np.stack([LOGITS, 3.0 * LOGITS[::-1]])[:, None]
    together = fitter(name)(readings, folds[None])
    predicted = log_probs(name, together, readings)
    assert predicted.shape == (2, 5, 30, 5)
    first = fitter(name)(LOGITS, folds)
    for place in np.ndindex(2, 5):
        alone = fitter(name)(readings[place[0], 0], folds[place[1]])
        for many, one in zip(together, alone, strict=True):
            np.testing.assert_allclose(many[place], one, rtol=1e-7, atol=1e-7)
        logs = log_probs(name, alone, readings[place[0], 0])
        np.testing.assert_allclose(predicted[place], logs, rtol=1e-6, atol=1e-6)
    for many, one in zip(together, first, strict=True):
        np.testing.assert_allclose(many[0], one, rtol=1e-7, atol=1e-7)


def test_vector_scaling_of_two_classes_is_logistic_regression():
    rng = np.random.default_rng(2)
    log_odds = rng.normal(size=(2000, 1))
    labels = rng.binomial(1, expit(0.5 + 1.5 * log_odds[:, 0]))
    theirs = LogisticRegression(C=1e8, tol=1e-12, max_iter=1000).fit(log_odds, labels)
    logits = np.hstack([-0.5 * log_odds, 0.5 * log_odds])
    ours = log_probs("vector", fit_vector(logits, labels, 1e-9), logits)
    np.testing.assert_allclose(np.exp(ours), theirs.predict_proba(log_odds), atol=1e-5)


def test_odds_of_two_classes_is_penalised_logistic_regression():
    rng = np.random.default_rng(3)
    logits = centred(rng.normal(size=(60, 2)) * 3.0)
    labels = rng.binomial(1, expit(1.0 + logits[:, 1]))
    theirs = LogisticRegression(C=1e-2, tol=1e-12, max_iter=1000).fit(logits, labels)
    ours = fit_odds(logits, labels, ridge=1e-12)
    np.testing.assert_allclose(ours.weights, theirs.coef_[0], atol=1e-6)
    np.testing.assert_allclose(-ours.thresholds, theirs.intercept_, atol=1e-6)


def test_unpenalised_odds_is_an_ordered_logit():
    rng = np.random.default_rng(4)
    logits = centred(rng.normal(size=(2000, 4)))
    latent = logits @ [-1.0, -0.3, 0.4, 0.9] + rng.logistic(size=2000)
    labels = np.digitize(latent, [-1.0, 0.2, 1.5])
    # Centred logits have one column too many for a model without a penalty.
    columns = logits[:, 1:] - logits[:, :1]
    model = OrderedModel(labels, columns, distr="logit")
    theirs = model.fit(method="newton", disp=False, maxiter=100)
    ours = log_probs("odds", fit_odds(logits, labels, 1e-9, ridge=1e-12), logits)
    np.testing.assert_allclose(np.exp(ours), theirs.predict(columns), atol=1e-6)


def test_temperature_and_vector_scaling_are_conditional_logits():
    """Every option is an alternative with its own logit, and with its own constant or none."""
    n, size = 2000, 4
    rng = np.random.default_rng(6)
    logits = centred(2.0 * rng.normal(size=(n, size)))
    utility = logits * [0.4, 0.6, 0.5, 0.9] + [0.3, 0.0, -0.5, 0.2]
    labels = np.argmax(utility + rng.gumbel(size=(n, size)), axis=1)
    chosen, texts = np.eye(size)[labels].ravel(), np.repeat(np.arange(n), size)

    def coefficients(columns):
        return ConditionalLogit(chosen, columns, groups=texts).fit(method="newton").params

    (slope,) = coefficients(logits.reshape(-1, 1))
    assert fitter("temperature")(logits, labels).temperature == pytest.approx(1 / slope, rel=1e-6)
    own = (logits[:, :, None] * np.eye(size)).reshape(-1, size)
    constants = np.tile(np.eye(size)[:, 1:], (n, 1))
    theirs = coefficients(np.hstack([own, constants]))
    ours = fit_vector(logits, labels, 1e-9)
    np.testing.assert_allclose(ours.weights, theirs[:size], atol=1e-6)
    np.testing.assert_allclose(ours.bias[1:] - ours.bias[0], theirs[size:], atol=1e-6)


def test_temperature_of_two_classes_is_logistic_regression_without_intercept():
    rng = np.random.default_rng(7)
    log_odds = 3.0 * rng.normal(size=(2000, 1))
    labels = rng.binomial(1, expit(log_odds[:, 0] / 1.8))
    theirs = LogisticRegression(C=1e9, tol=1e-12, max_iter=1000, fit_intercept=False)
    slope = theirs.fit(log_odds, labels).coef_.item()
    ours = fitter("temperature")(np.hstack([-0.5 * log_odds, 0.5 * log_odds]), labels)
    assert ours.temperature == pytest.approx(1 / slope, rel=1e-5)


def test_temperature_recovers_what_it_undoes():
    rng = np.random.default_rng(5)
    logits = centred(2.0 * rng.normal(size=(4000, 3)))
    probs = np.asarray(jax.nn.softmax(logits / 2.5, axis=1))
    labels = (rng.random((4000, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    assert fitter("temperature")(logits, labels).temperature == pytest.approx(2.5, rel=0.1)


@given(st.sampled_from([2, 5, 11]), st.integers(0, 2**32 - 1))
def test_odds_differences_do_not_cancel(size, seed):
    rng = np.random.default_rng(seed)
    thresholds = np.sort(40.0 * rng.normal(size=size - 1))
    logits = centred(rng.normal(size=(6, size)))
    weights = 30.0 * rng.normal(size=size)
    ours = log_probs("odds", Odds(thresholds, weights), logits)
    assert np.all(np.isfinite(ours))
    edges = thresholds[None] - (logits @ weights)[:, None]
    below = np.hstack([np.zeros((6, 1)), expit(edges), np.ones((6, 1))])
    np.testing.assert_allclose(np.exp(ours), np.diff(below, axis=1), atol=1e-12)
    # Read from the other end of the scale, the same model gives the same answer.
    mirrored = log_probs("odds", Odds(-thresholds[::-1], -weights), logits)
    np.testing.assert_allclose(mirrored[:, ::-1], ours, rtol=1e-9, atol=1e-9)


def test_an_independent_implementation_fits_the_same():
    tau = fitter("temperature")(LOGITS, LABELS).temperature
    assert tau == pytest.approx(REFERENCE["temperature_fit"]["tau"], abs=1e-6)
    vector, odds = fit_vector(LOGITS, LABELS, 0.05), fitter("odds")(LOGITS, LABELS)
    np.testing.assert_allclose(
        np.concatenate(vector), REFERENCE["vector_fit"]["x"], atol=REFERENCE["vector_fit"]["tol"]
    )
    held = REFERENCE["odds_fit"]
    np.testing.assert_allclose(odds.weights, held["x"][4:], atol=held["tol"])
    np.testing.assert_allclose(odds.thresholds[0], held["x"][0], atol=held["tol"])
    gaps = np.log(np.diff(odds.thresholds))
    np.testing.assert_allclose(gaps, held["x"][1:4], atol=held["tol"])
    assert float(VALUE("odds", odds, LOGITS, LABELS)) == pytest.approx(held["obj"], abs=1e-10)


def test_an_independent_implementation_predicts_the_same():
    test = np.array(REFERENCE["test_logits"])
    x = np.array(REFERENCE["vector"]["x"])
    vector = Vector(x[:5], x[5:])
    np.testing.assert_allclose(
        np.exp(vector_log_probs(vector, test)), REFERENCE["vector"]["probs"], atol=1e-8
    )
    loss = VALUE("vector", vector, LOGITS, LABELS)
    assert float(loss) == pytest.approx(REFERENCE["vector"]["obj"], abs=1e-10)
    slopes = GRADIENT("vector", vector, LOGITS, LABELS)
    np.testing.assert_allclose(jnp.concatenate(slopes), REFERENCE["vector"]["grad"], atol=1e-8)
    x = np.array(REFERENCE["odds"]["x"])
    odds = Odds(x[0] + np.concatenate([[0.0], np.cumsum(np.exp(x[1:4]))]), x[4:])
    np.testing.assert_allclose(
        np.exp(odds_log_probs(odds, test)), REFERENCE["odds"]["probs"], atol=1e-8
    )
    loss = float(VALUE("odds", odds, LOGITS, LABELS))
    assert loss == pytest.approx(REFERENCE["odds"]["half_mean"]["obj"], abs=1e-10)
    raw = np.exp(log_probs("temperature", Temperature(np.array(1.0)), test))
    np.testing.assert_allclose(raw, REFERENCE["raw"], atol=1e-8)
