"""Channels as anybody writes them who knows NumPyro and has read nothing of ours."""

from typing import Any

import jax
import jax.numpy as jnp
import numpyro

dist: Any = numpyro.distributions
WIDTH = 16


def sample(name, prior: Any) -> Any:
    return numpyro.sample(name, prior)


def many(prior: Any, count):
    return prior.expand([count]).to_event(1)


def mean(r):
    """Compute the stated mean on (0, 1)."""
    return jax.nn.softmax(r.logits) @ jnp.linspace(0.0, 1.0, r.logits.shape[1])


def by_logits(logits):
    return dist.Categorical(logits=logits)


def by_probs(probs):
    return dist.Categorical(probs=probs)


def biased(prior):
    """Logits with a slope, and a bias of each option with a prior of its own."""
    half = dist.HalfNormal(2.0)
    return lambda r, k: by_logits(sample("t", half) * r.logits + sample("bias", prior(k))[None])


def beta_binomial(r, k):
    count, tilt = sample("count", dist.Gamma(2.0, 0.2)), sample("tilt", many(dist.Normal(), 2))
    share = jax.nn.sigmoid(tilt[0] + 4.0 * jnp.exp(tilt[1]) * (mean(r) - 0.5))
    return dist.BetaBinomial(1e-3 + count * share, 1e-3 + count * (1.0 - share), k - 1)


def two_slopes(r, k):
    share = sample("share", dist.Uniform(0.0, 1.0))
    slopes = sample("low", dist.Exponential(1.0)), sample("high", dist.Gamma(2.0, 2.0))
    low, high = (jax.nn.softmax(slope * r.logits) for slope in slopes)
    return by_probs(share * low + (1.0 - share) * high)


def bell(r, k):
    offset, gain = sample("offset", dist.Logistic(0.0, 0.5)), sample("gain", dist.Weibull(1.0, 2.0))
    away = (gain * (mean(r) - 0.5) + 0.5 + 0.2 * offset)[:, None] - jnp.linspace(0.0, 1.0, k)[None]
    return by_logits(-4.0 * (away / sample("width", dist.InverseGamma(3.0, 2.0))) ** 2)


def hierarchical(r, k):
    spread = sample("spread", dist.HalfNormal(1.0))
    with numpyro.plate("steps", k):
        return by_logits(0.3 * r.logits + sample("bias", dist.Normal(0.0, spread))[None])


def correlated(r, k):
    noise = sample("factor", dist.LKJCholesky(k, 2.0)) @ sample("noise", many(dist.Normal(), k))
    return by_logits(0.3 * r.logits + noise[None])


def cut_logistic(r, k):
    steps = many(dist.Normal(0.0, 3.0), k - 1)
    ordered = dist.TransformedDistribution(steps, dist.transforms.OrderedTransform())
    slope = sample("slope", dist.Normal(0.0, 5.0))
    return dist.OrderedLogistic(slope * mean(r), sample("cuts", ordered))


def embedded(r, k):
    tilt = r.covariates["embedding"] @ sample("weights", many(dist.Normal(0.0, 0.3), WIDTH))
    slope = sample("slope", dist.HalfNormal(1.0))
    return by_logits(slope * r.logits + tilt[:, None] * jnp.linspace(-1.0, 1.0, k)[None])


LABELS = {
    "student": biased(lambda k: many(dist.StudentT(3.0, 0.0, 1.0), k)),
    "laplace": biased(lambda k: many(dist.Laplace(0.0, 0.5), k)),
    "bounded": biased(lambda k: dist.Uniform(-jnp.ones(k), 2.0).to_event(1)),
    "walk": biased(lambda k: dist.GaussianRandomWalk(0.5, k)),
    "zero_sum": biased(lambda k: dist.ZeroSumNormal(1.0, (k,))),
    "smooth": biased(lambda k: dist.MultivariateNormal(jnp.zeros(k), jnp.eye(k) + 0.5)),
    "cut": biased(lambda k: many(dist.TruncatedNormal(0.0, 1.0, low=-0.5, high=1.5), k)),
    "uniform": lambda r, k: by_logits(r.logits / sample("t", dist.Uniform(0.2, 20.0))),
    "half_cauchy": lambda r, k: by_logits(r.logits * sample("slope", dist.HalfCauchy(1.0))),
    "confusion": lambda r, k: by_probs(
        jax.nn.softmax(r.logits) @ sample("rows", dist.Dirichlet(jnp.ones((k, k))).to_event(1))
    ),
} | {
    function.__name__: function
    for function in (
        *(beta_binomial, two_slopes, bell, hierarchical, correlated, cut_logistic, embedded),
    )
}


def plain(name, scale=1.0):
    """Make a model whose labels have one of these distributions, in a plate of texts."""

    def model(readings, labels=None):
        fn = LABELS[name](readings, readings.logits.shape[1])
        with numpyro.plate("texts", len(readings.logits)), numpyro.handlers.scale(scale=scale):
            numpyro.sample("rating", fn, obs=labels)

    return model
