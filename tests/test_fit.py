"""Fitting all labels and every fold of them at once."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cordial_ppl.channels import CHANNELS
from cordial_ppl.errors import ChannelError, InputError
from cordial_ppl.inference.fit import (
    METHODS,
    as_posterior,
    fit_channel,
    fit_lanes,
    fit_laplace,
)
from cordial_ppl.inference.lanes import make_lanes
from cordial_ppl.inference.sampler import DEFAULT_EFFORT
from cordial_ppl.inference.target import Prior, build_target
from cordial_ppl.readings import as_logits, label_histogram
from cordial_ppl.stacking import assign_folds
from cordial_ppl.synthetic import reviews

TEXTS = reviews(60, seed=3)
LOGITS, LABELS = as_logits(TEXTS.logits[:20]), TEXTS.labels[:20]
FOLDS = assign_folds(20, 4, np.random.default_rng(0))
TARGET = build_target(CHANNELS["mixture"], 5)


@given(st.integers(0, 2**32 - 1), st.integers(4, 40), st.integers(2, 6))
def test_lanes_hide_what_their_fold_must_not_see(seed, count, size):
    rng = np.random.default_rng(seed)
    logits, labels = as_logits(rng.normal(size=(count, size))), rng.integers(0, size, count)
    folds = assign_folds(count, 4, rng)
    lanes = make_lanes(logits, labels, folds, {"length": rng.normal(size=count)})
    rows = len(lanes.lane)
    assert lanes.labels.shape == (5, rows) and lanes.logits.shape == (rows, size)
    assert lanes.covariates["length"].shape == (rows,)
    np.testing.assert_array_equal(
        lanes.labels[0], np.pad(labels, (0, rows - count), constant_values=-1)
    )
    for fold in range(4):
        expected = np.where(folds == fold, -1, labels)
        np.testing.assert_array_equal(lanes.labels[fold + 1, :count], expected)
        seen = labels[folds != fold]
        np.testing.assert_allclose(lanes.histograms[fold + 1], label_histogram(seen, size))
    assert (lanes.labels[lanes.lane[:count], np.arange(count)] == -1).all()


def test_without_folds_there_is_one_lane():
    lanes = make_lanes(LOGITS, LABELS)
    assert lanes.labels.shape == (1, 24)
    assert (lanes.lane == 0).all()


def fit(labels, method, seed=0):
    lanes = make_lanes(LOGITS, labels, FOLDS)
    found = fit_lanes(TARGET, lanes, jax.random.key(seed), method=method)
    return as_posterior(CHANNELS["mixture"], method, found.cloud, lanes), np.asarray(found.held_out)


def test_a_held_out_prediction_does_not_depend_on_its_own_label():
    _, before = fit(LABELS, "mode")
    changed = LABELS.copy()
    changed[7] = (changed[7] + 2) % 5
    _, after = fit(changed, "mode")
    np.testing.assert_allclose(after[7], before[7], rtol=0, atol=1e-12)
    others = FOLDS != FOLDS[7]
    assert np.abs(after[:20][others] - before[:20][others]).max(axis=1).min() > 0


def test_the_default_predicts_held_out_texts_like_fits_of_the_folds():
    _, found = fit(LABELS, "default")
    np.testing.assert_allclose(found[:20].sum(axis=1), 1.0, rtol=0, atol=1e-5)
    for fold in range(2):
        seen = FOLDS != fold
        alone = make_lanes(LOGITS, np.where(seen, LABELS, -1))
        cloud = fit_lanes(TARGET, alone, jax.random.key(1)).cloud
        lone = as_posterior(CHANNELS["mixture"], "default", cloud, alone)
        expected = lone.predict_proba(LOGITS)[~seen]
        assert np.sqrt(np.mean((found[:20][~seen] - expected) ** 2)) < 0.02


@pytest.mark.parametrize("method", ["default", "laplace", "mode"])
def test_every_method_comes_with_its_figures(method):
    posterior = fit_channel("mixture", TEXTS.logits[:20], LABELS, method=method)
    figures = posterior.diagnostics
    assert figures.method == method
    assert figures.trusted or method == "laplace"
    assert (
        len(posterior.draws)
        == {"default": DEFAULT_EFFORT.particles, "laplace": 300, "mode": 1}[method]
    )
    assert posterior.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.isnan(figures.gradient_norm) == (method == "default")
    assert np.isnan(figures.acceptance) == (method != "default")
    np.testing.assert_array_equal(posterior.histogram, label_histogram(LABELS, 5))
    if method == "laplace":
        again = fit_laplace("mixture", TEXTS.logits[:20], LABELS)
        np.testing.assert_array_equal(posterior.draws, again.draws)


def test_the_worst_fold_is_told():
    carried, _ = fit(LABELS, "default")
    assert 0 < carried.diagnostics.fold_khat < 2
    afresh, _ = fit(LABELS, "mode")
    assert np.isnan(afresh.diagnostics.fold_khat)


def test_seeds():
    first, second, other = (
        fit_channel("mixture", LOGITS, LABELS, seed=seed).draws for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, second)
    assert np.abs(first - other).max() > 0.1


def test_a_prior_that_knows_the_answer():
    prior = Prior(np.array([0.5, 1.0, 0.0, 1.0, 3.0]), np.full(5, 1e-3))
    posterior = fit_channel("mixture", LOGITS, LABELS, prior=prior)
    np.testing.assert_allclose(posterior.draws.mean(axis=0), prior.loc, rtol=0, atol=1e-3)


def test_what_cannot_be_fitted():
    with pytest.raises(InputError, match="default, laplace, mode, nuts; got 'map'"):
        fit_channel("mixture", LOGITS, LABELS, method="map")
    with pytest.raises(InputError, match="20 rows of logits came with 3 labels"):
        fit_channel("mixture", LOGITS, LABELS[:3])
    with pytest.raises(InputError, match=r"'length' must have one number a text, shape \(20,\)"):
        fit_channel("mixture", LOGITS, LABELS, covariates={"length": LABELS[:3]})
    with pytest.raises(InputError, match="'length' is nan in row 0"):
        fit_channel("mixture", LOGITS, LABELS, covariates={"length": np.full(20, np.nan)})
    with pytest.raises(ChannelError, match="'affine'"):
        fit_channel("affine", LOGITS, LABELS)
    with pytest.raises(InputError, match="0..4"):
        fit_channel("mixture", LOGITS, LABELS + 1)
    assert METHODS == ("default", "laplace", "mode", "nuts")
