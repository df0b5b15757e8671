"""Sixteen channels of the kinds that people write who know NumPyro and have read nothing of ours.

Each is a model of NumPyro's alone: its own distributions, plates and transforms.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.scipy.special import ndtr, ndtri
from numpyro import handlers
from numpyro.diagnostics import split_gelman_rubin
from numpyro.infer import MCMC, NUTS

dist: Any = numpyro.distributions
sample: Any = numpyro.sample
ANNOTATORS, CRITERIA, BLOCKS = 4, 3, 8
COVARIATES = {
    "annotator": lambda rng, n: rng.integers(ANNOTATORS, size=n).astype(float),
    "criterion": lambda rng, n: rng.integers(CRITERIA, size=n).astype(float),
    "block": lambda rng, n: rng.integers(BLOCKS, size=n).astype(float),
    "length": lambda rng, n: rng.uniform(0.0, 1.0, n),
}
"""Covariates of texts that are made up, by name."""

LEVELS = {"annotator": ANNOTATORS, "criterion": CRITERIA, "block": BLOCKS}


def stated(readings):
    """Compute the stated mean in classes at a sampled temperature."""
    temperature = sample("temperature", dist.LogNormal(0.7, 1.0))
    options = jnp.arange(readings.logits.shape[1])
    return jax.nn.softmax(readings.logits / temperature, axis=1) @ options


def ordered(name, size):
    """Sample cut points between as many options."""
    steps = dist.Normal(0.0, 3.0).expand([size - 1]).to_event(1)
    transform = dist.transforms.OrderedTransform()
    return sample(name, dist.TransformedDistribution(steps, transform))


def between(below):
    """Turn cumulative probabilities, without their ends, into those of the options."""
    ends = jnp.zeros((len(below), 1)), jnp.ones((len(below), 1))
    return floored(jnp.diff(jnp.concatenate([ends[0], below, ends[1]], axis=1), axis=1))


def floored(probs):
    """Keep probabilities away from zero."""
    return (probs + 1e-6) / (1 + 1e-6 * probs.shape[1])


def cumulative_probit(readings, labels=None):
    """Cut a latent quality with Gaussian noise into the options."""
    slope = sample("slope", dist.HalfNormal(2.0))
    cuts = ordered("cuts", readings.logits.shape[1])
    probs = between(ndtr(cuts - slope * stated(readings)[:, None]))
    with numpyro.plate("texts", len(probs)):
        sample("label", dist.Categorical(probs=probs), obs=labels)


def adjacent_categories(readings, labels=None):
    """Model the odds of each option against the one below."""
    size = readings.logits.shape[1]
    slope = sample("slope", dist.Normal(1.0, 1.0))
    with numpyro.plate("steps", size - 1):
        steps = sample("threshold", dist.Normal(0.0, 3.0))
    odds = slope * stated(readings)[:, None] - steps
    logits = jnp.concatenate([jnp.zeros((len(odds), 1)), jnp.cumsum(odds, axis=1)], axis=1)
    with numpyro.plate("texts", len(odds)):
        sample("label", dist.Categorical(logits=logits), obs=labels)


def stopping_ratio(readings, labels=None):
    """Climb the scale, and stop at each option with a probability."""
    slope = sample("slope", dist.Normal(1.0, 1.0))
    with numpyro.plate("steps", readings.logits.shape[1] - 1):
        steps = sample("threshold", dist.Normal(0.0, 3.0))
    stops = jax.nn.sigmoid(steps - slope * stated(readings)[:, None])
    one = jnp.ones((len(stops), 1))
    reached = jnp.concatenate([one, jnp.cumprod(1 - stops, axis=1)], axis=1)
    probs = reached * jnp.concatenate([stops, one], axis=1)
    with numpyro.plate("texts", len(stops)):
        sample("label", dist.Categorical(probs=probs), obs=labels)


def censored(edges):
    """Make a channel whose latent rating is rounded, and censored at both ends of the scale."""

    def censored_ends(readings, labels=None):
        offset = sample("offset", dist.Normal(0.0, 1.0))
        gain = sample("gain", dist.LogNormal(0.0, 0.5))
        spread = sample("spread", dist.HalfNormal(1.0))
        inner = jnp.arange(readings.logits.shape[1] - 1) + 0.5
        cuts = jnp.concatenate([jnp.array([-edges]), inner, jnp.array([edges])])
        centre = gain * stated(readings) + offset
        probs = floored(jnp.diff(ndtr((cuts - centre[:, None]) / spread), axis=1))
        with numpyro.plate("texts", len(centre)):
            sample("label", dist.Categorical(probs=probs), obs=labels)

    return censored_ends


def copula(readings, labels=None):
    """Couple the stated mean and the label by a Gaussian copula; its margin is the histogram."""
    size = readings.logits.shape[1]
    correlation = sample("correlation", dist.Uniform(-1.0, 1.0))
    shares = sample("shares", dist.Dirichlet(jnp.full(size, 2.0)))
    place = ndtri(jnp.clip((stated(readings) + 0.5) / size, 1e-3, 1 - 1e-3))
    cuts = ndtri(jnp.clip(jnp.cumsum(shares)[:-1], 1e-5, 1 - 1e-5))
    scaled = (cuts - correlation * place[:, None]) / jnp.sqrt(1 - correlation**2 + 1e-5)
    probs = between(ndtr(scaled))
    with numpyro.plate("texts", len(place)):
        sample("label", dist.Categorical(probs=probs), obs=labels)


def gaussian_process(readings, labels=None):
    """Bias each option by a smooth function of its place on the scale."""
    options = jnp.arange(readings.logits.shape[1])
    height = sample("height", dist.HalfNormal(1.0))
    reach = sample("reach", dist.InverseGamma(3.0, 4.0))
    distances = (options[:, None] - options) / reach
    covariance = height**2 * jnp.exp(-0.5 * distances**2) + 1e-4 * jnp.eye(len(options))
    factor = jnp.linalg.cholesky(covariance)
    bias = factor @ sample("noise", dist.Normal().expand([len(options)]).to_event(1))
    slope = sample("slope", dist.HalfNormal(1.0))
    with numpyro.plate("texts", len(readings.logits)):
        sample("label", dist.Categorical(logits=slope * readings.logits + bias), obs=labels)


def random_walk(readings, labels=None):
    """Let a bias wander over the order in which texts were rated, in blocks."""
    step = sample("step", dist.HalfNormal(0.5))
    noise = sample("noise", dist.Normal().expand([BLOCKS]).to_event(1))
    places = step * jnp.cumsum(noise)
    block = readings.covariates["block"].astype(int)
    slope = sample("slope", dist.HalfNormal(2.0))
    cuts, place = ordered("cuts", readings.logits.shape[1]), slope * stated(readings)
    with numpyro.plate("texts", len(place)):
        place = place + places[block]
        sample("label", dist.OrderedLogistic(place, cuts), obs=labels)


def hierarchical_criteria(readings, labels=None):
    """Give each criterion a slope and an offset of its own, drawn from common ones."""
    mean = sample("mean", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
    spread = sample("spread", dist.HalfNormal(0.5).expand([2]).to_event(1))
    with numpyro.plate("criterion", CRITERIA):
        own = sample("own", dist.Normal().expand([2]).to_event(1))
    slopes, offsets = (mean + spread * own).T
    criterion = readings.covariates["criterion"].astype(int)
    ramp = jnp.linspace(-1.0, 1.0, readings.logits.shape[1])
    logits = jnp.exp(slopes[criterion] - 1)[:, None] * readings.logits
    with numpyro.plate("texts", len(logits)):
        biased = logits + offsets[criterion][:, None] * ramp
        sample("label", dist.Categorical(logits=biased), obs=labels)


def spline_of_length(readings, labels=None):
    """Tilt the reading by a smooth function of the text's length: linear B-splines."""
    knots = jnp.linspace(0.0, 1.0, 6)
    length = readings.covariates["length"]
    basis = jnp.clip(1 - jnp.abs(length[:, None] - knots) * 5, 0.0, 1.0)
    rough = sample("rough", dist.HalfNormal(1.0))
    heights = sample("heights", dist.Normal().expand([6]).to_event(1))
    temperature = sample("temperature", dist.LogNormal(0.7, 1.0))
    tilt = rough * basis @ heights
    ramp = jnp.linspace(-1.0, 1.0, readings.logits.shape[1])
    with numpyro.plate("texts", len(length)):
        logits = readings.logits / temperature + tilt[:, None] * ramp
        sample("label", dist.Categorical(logits=logits), obs=labels)


def mixture_of_two(readings, labels=None):
    """Mix two kinds of raters, of whom one trusts the reading more."""
    share = sample("share", dist.Beta(2.0, 2.0))
    slopes = sample("slopes", dist.LogNormal(-1.0, 1.0).expand([2]).to_event(1))
    size = readings.logits.shape[1]
    bias = sample("bias", dist.Normal(0.0, 1.0).expand([2, size]).to_event(2))
    kinds = dist.Categorical(probs=jnp.stack([share, 1 - share]))
    raters = [
        dist.Categorical(logits=s * readings.logits + b) for s, b in zip(slopes, bias, strict=True)
    ]
    support = dist.constraints.integer_interval(0, size - 1)
    with numpyro.plate("texts", len(readings.logits)):
        either = dist.MixtureGeneral(kinds, raters, support=support)
        sample("label", either, obs=labels)


def counts(readings):
    """Compute the two concentrations of a beta-binomial around the stated mean."""
    size = readings.logits.shape[1]
    count = sample("count", dist.Gamma(2.0, 0.2))
    level, slope = sample("line", dist.Normal(0.0, 2.0).expand([2]).to_event(1))
    share = jax.nn.sigmoid(level + slope * (stated(readings) / (size - 1) - 0.5))
    return dist.BetaBinomial(0.01 + count * share, 0.01 + count * (1 - share), size - 1)


def beta_binomial(readings, labels=None):
    """Count to the label from a beta-binomial."""
    count = counts(readings)
    with numpyro.plate("texts", len(readings.logits)):
        sample("label", count, obs=labels)


def zero_inflated(readings, labels=None):
    """Count likewise, with more of the lowest option."""
    gate = sample("gate", dist.Beta(1.0, 4.0))
    inflated = dist.ZeroInflatedDistribution(counts(readings), gate=gate)
    with numpyro.plate("texts", len(readings.logits)):
        sample("label", inflated, obs=labels)


def annotators(readings, labels=None):
    """Give each annotator a severity and a noise."""
    spread = sample("spread", dist.HalfNormal(1.0))
    with numpyro.plate("annotator", ANNOTATORS):
        severity = sample("severity", dist.Normal(0.0, 1.0))
        noise = sample("noise", dist.LogNormal(0.0, 0.5))
    who = readings.covariates["annotator"].astype(int)
    cuts = ordered("cuts", readings.logits.shape[1])
    slope = sample("slope", dist.HalfNormal(2.0))
    place = slope * stated(readings) - spread * severity[who]
    with numpyro.plate("texts", len(place)):
        logits = (cuts - place[:, None]) / noise[who][:, None]
        probs = between(jax.nn.sigmoid(logits))
        sample("label", dist.Categorical(probs=probs), obs=labels)


def confusion(readings, labels=None):
    """Confuse each stated option with others, by a row of a matrix."""
    size = readings.logits.shape[1]
    with numpyro.plate("stated", size):
        rows = sample("rows", dist.Dirichlet(jnp.ones(size)))
    with numpyro.plate("texts", len(readings.logits)):
        probs = jax.nn.softmax(readings.logits, axis=1) @ rows
        sample("label", dist.Categorical(probs=probs), obs=labels)


def induced_cuts(readings, labels=None):
    """Cut a logistic quality where the shares of the options say (an induced Dirichlet prior)."""
    size = readings.logits.shape[1]
    shares = sample("shares", dist.Dirichlet(jnp.ones(size)))
    below = jnp.cumsum(shares)[:-1]
    slope = sample("slope", dist.HalfNormal(2.0))
    place = slope * (stated(readings) - (size - 1) / 2)
    with numpyro.plate("texts", len(place)):
        likelihood = dist.OrderedLogistic(place, jnp.log(below) - jnp.log1p(-below))
        sample("label", likelihood, obs=labels)


def second_site(readings, labels=None):
    """Model the reading too, as observed beside the label."""
    slope = sample("slope", dist.HalfNormal(1.0))
    stated_option = jnp.argmax(readings.logits, axis=1)
    size = readings.logits.shape[1]
    shares = sample("shares", dist.Dirichlet(jnp.ones(size)))
    with numpyro.plate("texts", len(readings.logits)):
        sample("stated", dist.Categorical(probs=shares), obs=stated_option)
        sample("label", dist.Categorical(logits=slope * readings.logits), obs=labels)


CHANNELS = {
    function.__name__: function
    for function in (
        cumulative_probit,
        adjacent_categories,
        stopping_ratio,
        censored(jnp.inf),
        copula,
        gaussian_process,
        random_walk,
        hierarchical_criteria,
        spline_of_length,
        mixture_of_two,
        beta_binomial,
        zero_inflated,
        annotators,
        confusion,
        induced_cuts,
        second_site,
    )
}
"""The models by name."""

REFERENCES = CHANNELS | {"censored_ends": censored(1e6)}
"""The same for an inference by gradients, which a cut point at infinity has none of."""


def make_covariates(count, seed=0):
    """Make up covariates of texts."""
    rng = np.random.default_rng(seed)
    return {name: draw(rng, count) for name, draw in COVARIATES.items()}


def sample_by_numpyro(name, readings, labels, unseen, *, draws=500, seed=0):
    """Predict texts by a model's posterior from NumPyro's own NUTS, without anything of ours.

    Args:
        name: of the channel.
        readings: labelled texts, `cordial_ppl.Readings`.
        labels: their options.
        unseen: texts to predict.
        draws: draws, and warm-up steps, of each of four chains.
        seed: seed of the chains.

    Returns:
        Probabilities of the options; the largest split R-hat; divergent transitions.
    """
    model = REFERENCES[name]
    size = unseen.logits.shape[1]
    with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):
        with jax.numpy_rank_promotion("allow"):
            kernel = NUTS(model, dense_mass=True, target_accept_prob=0.95)
            settings = {"num_chains": 4, "chain_method": "vectorized", "progress_bar": False}
            sampler = MCMC(kernel, num_warmup=draws, num_samples=draws, **settings)
            sampler.run(jax.random.key(seed), readings, jnp.asarray(labels))

            def predict(values):
                seeded = handlers.seed(handlers.substitute(model, values), 0)
                fn = handlers.trace(seeded).get_trace(unseen)["label"]["fn"]
                each = jax.vmap(lambda option: fn.log_prob(jnp.full(fn.batch_shape, option)))
                return jnp.exp(each(jnp.arange(size))).T

            chains: Any = sampler.get_samples(group_by_chain=True)
            rhat = max(
                float(np.max(split_gelman_rubin(np.asarray(part)))) for part in chains.values()
            )
            probs = jax.jit(lambda values: jax.lax.map(predict, values))(sampler.get_samples())
            diverging = int(sampler.get_extra_fields()["diverging"].sum())
    return np.asarray(probs).mean(axis=0), rhat, diverging
