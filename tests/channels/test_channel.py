"""The seam: the likelihood that `observe` states, and what it leaves out."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax.scipy.special import expit
from numpyro import handlers

from cordial_ppl.channels.channel import LABEL_SITE, Ordinal, observe, sample_log_odds
from cordial_ppl.errors import ChannelError, InputError

SEEDS = st.integers(0, 2**32 - 1)


def random_probs(seed, rows=6, size=4):
    return np.random.default_rng(seed).dirichlet(np.ones(size), rows)


@pytest.mark.float32
def test_an_option_has_its_probability_and_minus_one_counts_nothing():
    probs = jnp.asarray([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.2, 0.7, 0.1]])
    labels = jnp.asarray([1, -1, 2])
    for ordinal in (Ordinal(probs=probs), Ordinal(jnp.log(probs))):
        found = np.asarray(ordinal.log_prob(labels))
        np.testing.assert_allclose(found, [np.log(0.3), 0.0, np.log(0.1)], rtol=0, atol=1e-6)


@pytest.mark.parametrize("wrong", [3, -2])
def test_a_label_that_is_no_option_is_refused(wrong):
    probs = jnp.asarray([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    for ordinal in (Ordinal(probs=probs), Ordinal(jnp.log(probs))):
        with pytest.raises(InputError, match=f"options 0..2, or -1.* found {wrong} in row 1"):
            ordinal.log_prob(jnp.asarray([0, wrong]))
        found = jax.jit(ordinal.log_prob)(jnp.asarray([0, wrong]))
        np.testing.assert_allclose(found, [np.log(0.5), -np.inf])


@given(SEEDS)
def test_both_forms_agree_with_the_categorical_distribution(seed):
    probs = jnp.asarray(random_probs(seed))
    labels = jnp.asarray(np.random.default_rng(seed).integers(0, 4, 6))
    expected = dist.CategoricalProbs(probs).log_prob(labels)
    for ordinal in (Ordinal(probs=probs), Ordinal(jnp.log(probs))):
        np.testing.assert_allclose(ordinal.log_prob(labels), expected, rtol=1e-12)
        np.testing.assert_allclose(ordinal.probs, probs, rtol=1e-12)
        np.testing.assert_allclose(jnp.exp(ordinal.log_probs), probs, rtol=1e-12)


def test_a_zero_probability_has_a_finite_gradient():
    def loss(log_odds):
        probs = jnp.stack([jax.nn.sigmoid(log_odds), jax.nn.sigmoid(-log_odds)])
        return jnp.sum(Ordinal(probs=probs[None]).log_prob(jnp.asarray([0])))

    for log_odds in (-1e4, -800.0, 0.0, 800.0):
        value, slope = jax.value_and_grad(loss)(log_odds)
        assert np.isfinite(value) and np.isfinite(slope)


def test_draws_follow_the_probabilities():
    ordinal = Ordinal(probs=jnp.asarray([[0.6, 0.3, 0.1], [0.0, 0.5, 0.5]]))
    draws = np.asarray(ordinal.sample(jax.random.key(0), (4000,)))
    assert draws.shape == (4000, 2)
    shares = (draws[:, :, None] == np.arange(3)).mean(axis=0)
    # The largest error is .010, sd .0045 over 20 seeds.
    np.testing.assert_allclose(shares, ordinal.probs, rtol=0, atol=0.04)
    assert ordinal.support.is_discrete
    with pytest.raises(ChannelError, match="log_probs or probs"):
        Ordinal()
    probs = jnp.asarray([0.5, 0.5])
    with pytest.raises(ChannelError, match="either log_probs or probs"):
        Ordinal(jnp.log(probs), probs)


def test_what_observe_and_log_odds_sample():
    probs, labels = jnp.asarray(random_probs(1)), jnp.asarray([0, 1, -1, 3, 2, -1])
    trace = handlers.trace(observe).get_trace(None, labels, probs=probs)
    site = trace[LABEL_SITE]
    assert site["is_observed"]
    assert [frame.name for frame in site["cond_indep_stack"]] == ["texts"]
    drawn = handlers.trace(handlers.seed(observe, 0)).get_trace(jnp.log(probs), None)
    assert not drawn[LABEL_SITE]["is_observed"]
    assert set(np.asarray(drawn[LABEL_SITE]["value"])) <= {0, 1, 2, 3}

    def model():
        return sample_log_odds("strength", 3.0, 2.0)

    trace = handlers.trace(handlers.seed(model, 0)).get_trace()
    site = trace["strength_log_odds"]
    assert isinstance(site["fn"], dist.Normal)
    assert (site["fn"].loc, site["fn"].scale) == (3.0, 2.0)
    np.testing.assert_allclose(trace["strength"]["value"], expit(site["value"]))
