"""Ordinary NumPyro likelihoods: the same density as `observe`, fits, NUTS, and what is refused."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from few_labels import LABELS, LOGITS, TEST

import cordial_ppl as cp
from cordial_ppl.channels.likelihood import as_ordinal
from cordial_ppl.inference.target import build_target

categorical: Any = dist.Categorical


def tempered(readings):
    """Log probabilities of a channel with one parameter."""
    a = numpyro.sample("a", dist.LogNormal(0.0, 1.0))
    return jax.nn.log_softmax(readings.logits / a, axis=1)


def by_observe(readings, labels=None):
    cp.observe(tempered(readings), labels)


def by_logits(readings, labels=None):
    logs = tempered(readings)
    with numpyro.plate("texts", len(logs)):
        numpyro.sample("label", categorical(logits=logs), obs=labels)


def without_a_plate(readings, labels=None):
    numpyro.sample("y", categorical(probs=jnp.exp(tempered(readings))), obs=labels)


def masked(readings, labels=None):
    logs = tempered(readings)
    seen = True if labels is None else labels >= 0
    with numpyro.plate("texts", len(logs)), numpyro.handlers.mask(mask=seen):
        numpyro.sample("label", categorical(logits=logs), obs=labels)


def observed_in_a_plate(readings, labels=None):
    logs = tempered(readings)
    with numpyro.plate("texts", len(logs)):
        cp.observe(logs, labels)


@pytest.mark.parametrize("model", [by_logits, without_a_plate, masked, observed_in_a_plate])
def test_a_categorical_is_what_observe_is(model):
    """Densities are compared: rounding differs between compilers, and particles with it."""
    observing, tried = (
        cp.channels.Channel(f"tried {each.__name__}", each) for each in (by_observe, model)
    )
    expected, found = build_target(observing, 5), build_target(tried, 5)
    readings = cp.Readings(LOGITS, np.full(5, 0.2))
    labels = np.where(np.arange(len(LABELS)) % 4, LABELS, -1)
    flat = jnp.array([0.7])

    @jax.jit
    def evaluate(flat):
        both = found, expected
        likelihoods = [own.log_likelihood(flat, readings, labels) for own in both]
        return likelihoods, [own.probs(flat, readings) for own in both]

    for pair in evaluate(flat):
        np.testing.assert_allclose(*pair, rtol=1e-9)
    modes = (
        cp.ChannelCalibrator(channel, inference="mode").fit(LOGITS, LABELS).predict_proba(TEST)
        for channel in (tried, observing)
    )
    np.testing.assert_allclose(*modes, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "fn",
    [
        lambda: dist.Categorical(logits=jnp.array([[1.0, 0.0, -2.0], [0.5, 0.5, 0.1]])),
        lambda: dist.Categorical(probs=jnp.array([[0.2, 0.5, 0.3], [0.9, 0.05, 0.05]])),
        lambda: dist.OrderedLogistic(jnp.array([0.3, -2.0]), jnp.array([-0.5, 1.0])),
        lambda: dist.Binomial(2, probs=jnp.array([0.2, 0.7])),
        lambda: dist.BetaBinomial(jnp.array([1.0, 2.0]), jnp.array([3.0, 0.5]), 2),
    ],
    ids=["logits", "probs", "ordered", "binomial", "beta-binomial"],
)
def test_probabilities_are_those_of_numpyro(fn):
    @jax.jit
    def both(labels):
        return as_ordinal(fn(), 3).log_prob(labels), fn().log_prob(labels)

    with jax.numpy_dtype_promotion("standard"):
        for option in range(3):
            np.testing.assert_allclose(*both(jnp.full(2, option)), rtol=1e-6)


def test_models_that_branch_that_fail_for_a_text_and_of_another_size():
    def branching(readings, labels=None):
        shift = numpyro.sample("shift", dist.Normal(0.0, 1.0))
        ramp = jnp.linspace(-1.0, 1.0, readings.logits.shape[-1])
        tilts: Any = (lambda x: x + shift * ramp[None]), (lambda x: x)
        changed = jax.lax.cond(jnp.greater(shift, 0), *tilts, readings.logits)
        cp.observe(jax.nn.log_softmax(changed, axis=1), labels)

    channel = cp.channels.Channel("branching", branching)
    fitted = cp.ChannelCalibrator(channel, inference="mode").fit(LOGITS, LABELS)
    np.testing.assert_allclose(fitted.predict_proba(TEST).sum(axis=1), 1.0)

    def tame(readings, labels=None):
        slope = numpyro.sample("slope", dist.LogNormal(0.0, 1.0))
        room = jnp.sqrt(3.0 - readings.logits.max(axis=1))[:, None]
        cp.observe(jax.nn.log_softmax(slope * room * readings.logits, axis=1), labels)

    small = 0.5 * np.eye(5)[LABELS]
    channel = cp.channels.Channel("tame", tame)
    fitted = cp.ChannelCalibrator(channel, inference="mode").fit(small, LABELS)
    with pytest.raises(cp.InputError, match="no valid prediction for row 1"):
        fitted.predict_proba(np.stack([small[0], 40 * small[1]]))
    with pytest.raises(cp.ChannelError, match="with 5 options, labels go up to 4"):
        cp.ChannelCalibrator(cp.channels.Channel("wider", wider)).fit(LOGITS, LABELS)


def wider(readings, labels=None):
    width = readings.logits.shape[-1]
    slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
    numpyro.sample("label", dist.Binomial(width, logits=slope * readings.logits[:, 0]), obs=labels)
