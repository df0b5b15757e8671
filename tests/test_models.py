"""The gallery of channel files, used as anybody uses them: by path."""

from pathlib import Path

import jax
import numpy as np
import pytest

import cordial_ppl as cp
from cordial_ppl.channels import CHANNELS
from cordial_ppl.inference.target import build_target
from cordial_ppl.loading import load_channel
from cordial_ppl.readings import Readings, as_logits
from cordial_ppl.synthetic import reviews

GALLERY = sorted((Path(__file__).parent.parent / "models").glob("*.py"))
SKEWED = next(path for path in GALLERY if path.stem == "skewed")
READINGS = Readings(
    np.random.default_rng(0).normal(0, 4, (16, 5)), np.array([0.1, 0.1, 0.2, 0.3, 0.3])
)


def probs_of(target, readings, **values):
    """Probabilities at the prior means, with some unconstrained parameters replaced."""
    flat = np.array(target.prior.loc)
    for site in target.sites:
        flat[site.slice] = values.get(site.name, flat[site.slice])
    return np.asarray(jax.jit(target.probs)(flat, readings))


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_every_file_fits_and_keeps_the_order(path):
    texts = reviews(420, seed=1)
    judge = cp.ChannelCalibrator(path).fit(texts.logits[:20], texts.labels[:20])
    assert judge.posterior_.diagnostics.trusted
    probs = judge.predict_proba(texts.logits[20:])
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-12)
    truth = texts.labels[20:]
    histogram = np.tile(judge.posterior_.histogram, (len(truth), 1))
    assert cp.scores.log_loss(probs, truth) < cp.scores.log_loss(histogram, truth)
    assert not cp.scores.reversals(judge.predict_proba(20 * np.eye(5)), tolerance=1e-6).any()


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
@pytest.mark.parametrize("size", [2, 5, 11])
def test_every_file_is_indifferent_to_padding_and_finite_in_the_tails(path, size):
    target = build_target(load_channel(path), size)
    rng = np.random.default_rng(size)
    logits, labels = as_logits(rng.normal(0, 30, (6, size))), rng.integers(0, size, 6)
    readings = Readings(logits, np.full(size, 1 / size))
    padded = Readings(np.pad(logits, ((0, 2), (0, 0))), readings.histogram)
    density = jax.jit(jax.vmap(jax.value_and_grad(target.log_likelihood), in_axes=(0, None, None)))
    prior = target.prior
    points = prior.loc + prior.scale * rng.normal(0, 6, (64, target.size))
    value, slope = density(points, readings, labels)
    assert np.isfinite(value).all() and np.isfinite(slope).all()
    other, _ = density(points, padded, np.pad(labels, (0, 2), constant_values=-1))
    np.testing.assert_allclose(other, value, rtol=1e-10)


def test_without_skew_it_is_the_location_channel():
    values = {"offset": 0.4, "gain": -0.2, "temperature": 1.1, "concentration": 0.3}
    found, expected = (
        probs_of(target, READINGS, **values)
        for target in (
            build_target(load_channel(SKEWED), 5),
            build_target(CHANNELS["location"], 5),
        )
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_skew_spreads_to_its_side():
    target = build_target(load_channel(SKEWED), 5)
    # The centre lies on an option, so that both its neighbours are equally far.
    level = Readings(np.zeros((1, 5)), READINGS.histogram)
    spread = {"concentration": 0.0, "strength_log_odds": 60.0}
    up, even, down = (probs_of(target, level, skew=g, **spread)[0] for g in (1.0, 0.0, -1.0))
    assert even[1] == pytest.approx(even[3])
    assert up[3] / up[1] == pytest.approx(np.exp(np.exp(1.0) - np.exp(-1.0)))
    np.testing.assert_allclose(down, up[::-1], rtol=1e-10)


def test_labels_that_stray_upward_are_seen_to():
    rng = np.random.default_rng(5)
    stated = rng.integers(0, 5, 60)
    labels = np.minimum(stated + (rng.random(60) < 0.4) * rng.integers(1, 3, 60), 4)
    judge = cp.ChannelCalibrator(SKEWED).fit(20 * np.eye(5)[stated], labels)
    draws, weights = judge.posterior_.parameters()["skew"], judge.posterior_.weights
    assert weights[draws > 0].sum() > 0.95
