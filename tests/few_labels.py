"""Twenty labelled reviews, forty to predict, and what several tests fit to them."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

import cordial_ppl as cp
from cordial_ppl.channels.channel import observe
from cordial_ppl.data.readings import as_logits
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.summary import describe
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.evaluation.synthetic import reviews

TEXTS = reviews(300, seed=1)
LOGITS, LABELS = TEXTS.logits[:20], TEXTS.labels[:20]
TEST, TRUTH = TEXTS.logits[100:140], TEXTS.labels[100:140]
STARS = ("1", "2", "3", "4", "5")


def small(options=None, seed=0, **settings):
    """A stack that has every kind of member and few of each."""
    calibrators = ("temperature", "odds")
    return Stack(options, channels=("mixture",), calibrators=calibrators, seed=seed, **settings)


@cache
def plain():
    """A fit that is quick."""
    return cp.BatchCalibration().fit(LOGITS, LABELS).fit_


def summarise(posteriors, weights, losses=None, size=5, reader=None):
    """What is said of a fit that has these posteriors, weights and losses, and this reader."""
    fit = replace(
        plain(),
        scale=Scale(tuple(map(str, range(1, size + 1)))),
        settings=replace(plain().settings, folded=losses is not None),
        members=posteriors,
        weights=weights,
        expected=losses or plain().expected,
        losses={},
    )
    return describe(fit, None, reader)


WEIGHTS = np.array([2.0, 0.25, 0.5]) / 2.75
"""What the small stack's members weigh before any label is seen: by their pseudo-counts."""


def lengthy(readings, labels=None):
    """A channel model that uses a covariate."""
    slope = numpyro.sample("slope", dist.Normal(1.0, 1.0))
    tilt = numpyro.sample("tilt", dist.Normal(0.0, 1.0))
    extra = tilt * readings.covariates["length"][:, None] * jnp.linspace(-1.0, 1.0, 5)[None]
    observe(jax.nn.log_softmax(slope * readings.logits + extra), labels)


def three_readers(logits, seed):
    """Readings of three, each wrong in its own way: those given, half of them moved, noise."""
    noise = np.random.default_rng(seed).normal(size=(2, *logits.shape))
    return np.stack([logits, 0.5 * np.roll(logits, 1, axis=1) + noise[0], 3 * noise[1]], axis=1)


THREE, THREE_TEST = (three_readers(as_logits(x), seed) for seed, x in enumerate((LOGITS, TEST)))
READERS = ("plain", "lower", "noise")


def assert_probabilities(probs, rows, size):
    assert probs.shape == (rows, size) and probs.dtype == np.float64
    assert (probs >= 0).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1.0, rtol=0, atol=1e-12)
