"""The evidence is the labels' probability under the prior; the mode is where the density peaks."""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from few_labels import LABELS, LOGITS
from numpyro import handlers
from numpyro.infer.util import potential_energy
from scipy import special, stats

import cordial_ppl as cp
from cordial_ppl.channels.likelihood import Likelihood
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.readings import Readings, as_logits
from cordial_ppl.inference.case import Case
from cordial_ppl.inference.fitting import fit_cases

logsumexp: Any = special.logsumexp
pytestmark = pytest.mark.literal
dist: Any = numpyro.distributions
CENTRED = as_logits(LOGITS)
OPTIONS = np.arange(5)


def state(scores, labels):
    with numpyro.plate("texts", len(scores)):
        numpyro.sample("label", dist.Categorical(logits=scores), obs=labels)


def one(readings, labels=None):
    slope: Any = numpyro.sample("slope", dist.HalfNormal(2.0))
    state(slope * readings.logits, labels)


def scaled(readings, labels=None):
    with handlers.scale(scale=0.5):
        one(readings, labels)


def two(readings, labels=None):
    temperature: Any = numpyro.sample("temperature", dist.LogNormal(1.0, 0.7))
    tilt: Any = numpyro.sample("tilt", dist.Uniform(-1.0, 3.0))
    state(readings.logits / temperature + tilt * jnp.arange(5)[None], labels)


def three(readings, labels=None):
    slope: Any = numpyro.sample("slope", dist.LogNormal(0.0, 1.0))
    share: Any = numpyro.sample("share", dist.Beta(2.0, 1.0))
    tilt: Any = numpyro.sample("tilt", dist.StudentT(3.0, 0.0, 0.5))
    stated = jax.nn.softmax(slope * readings.logits + tilt * jnp.arange(5)[None])
    state(jnp.log(share * stated + (1 - share) * readings.histogram[None]), labels)


def likelihood(scores):
    """Compute the log likelihood at points of a grid, whose axes are the last."""
    return special.log_softmax(scores, axis=1)[np.arange(len(LABELS)), LABELS].sum(axis=0)


def midpoints(low, high, count):
    """Return points at which a sum is an integral, and the log of their spacing."""
    edges = np.linspace(low, high, count + 1)
    return (edges[1:] + edges[:-1]) / 2, np.log(edges[1] - edges[0])


def integrate_one(power=1.0):
    logs, step = midpoints(-12, 3, 4000)
    slopes = np.exp(logs)
    prior = stats.halfnorm.logpdf(slopes, scale=2) + logs
    # A scale is one of the density of the unconstrained parameter, in NumPyro too.
    return logsumexp(power * (likelihood(CENTRED[..., None] * slopes) + prior)) + step


def integrate_two():
    temperatures, step = midpoints(0.02, 60, 3000)
    tilts, other = midpoints(-1, 3, 200)
    scores = CENTRED[..., None, None] / temperatures[:, None] + tilts * OPTIONS[:, None, None]
    prior = stats.lognorm.logpdf(temperatures, 0.7, scale=np.e)[:, None] + np.log(1 / 4)
    return logsumexp(likelihood(scores) + prior) + step + other


def integrate_three(histogram):
    logs, *steps = midpoints(-6, 4, 300)
    shares, step = midpoints(0, 1, 60)
    tilts, other = midpoints(-6, 6, 240)
    scores = CENTRED[..., None, None] * np.exp(logs)[:, None] + tilts * OPTIONS[:, None, None]
    stated = special.softmax(scores, axis=1)[np.arange(len(LABELS)), LABELS]
    mixed = (share * stated + (1 - share) * histogram[LABELS][:, None, None] for share in shares)
    density = np.stack([np.log(each).sum(axis=0) for each in mixed])
    density += stats.beta.logpdf(shares, 2, 1)[:, None, None] + stats.norm.logpdf(logs)[:, None]
    return logsumexp(density + stats.t.logpdf(tilts, 3, scale=0.5)) + sum(steps) + step + other


def fit(model, method, **settings):
    channel = cp.channels.Channel(f"{model.__name__} of evidence", model)
    return cp.fit_channel(channel, LOGITS, LABELS, method=method, **settings)


@pytest.mark.parametrize(
    ("model", "method"),
    [
        pytest.param(model, method, marks=() if daily else pytest.mark.nightly)
        for model in (one, scaled, two, three)
        for method in ("default", "laplace", "mode")
        for daily in [model is one or model is scaled and method == "default"]
    ],
)
def test_the_evidence_is_the_integral_over_the_prior(model, method):
    posterior = fit(model, method)
    exact = {
        one: integrate_one,
        scaled: partial(integrate_one, 0.5),
        two: integrate_two,
        three: partial(integrate_three, posterior.histogram),
    }[model]()
    assert posterior.log_evidence == pytest.approx(exact, abs=0.02)


def test_labels_count_by_their_weights_and_the_prior_is_the_posteriors_own():
    prior = cp.priors.Prior(np.array([0.4]), np.array([0.3]))

    def steep(readings, labels=None):
        slope: Any = numpyro.sample("slope", dist.LogNormal(0.0, 1.0))
        state(slope * readings.logits, labels)

    posterior = fit(steep, "default", prior=prior)
    weights = np.where(LABELS == 4, 3.0, 0.5)
    weighed = Labelled(CENTRED, LABELS, {}, weights)
    logs, step = midpoints(-2, 3, 4000)
    picked = np.log(
        special.softmax(CENTRED[..., None] * np.exp(logs), axis=1)[np.arange(20), LABELS]
    )
    for times, each in ((np.ones(20), posterior), (weights, replace(posterior, data=weighed))):
        density = times @ picked + stats.norm.logpdf(logs, 0.4, 0.3)
        assert each.log_evidence == pytest.approx(logsumexp(density) + step, abs=0.02)


def readings_of(posterior):
    return Readings(jnp.asarray(CENTRED), jnp.asarray(posterior.histogram))


def log_density_by_numpyro(posterior, draws):
    """Compute the log density of unconstrained parameters, their Jacobian included."""
    readings, target = readings_of(posterior), posterior.target
    model = Likelihood(posterior.channel.model)

    def one_draw(flat):
        values = {site.name: site.unravel(flat) for site in target.sites}
        return -potential_energy(model, (readings, jnp.asarray(LABELS)), {}, values)

    with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):
        return np.asarray(jax.jit(jax.vmap(one_draw))(jnp.asarray(draws)))


def bridge(posterior):
    """Bridge sampling between the draws and a Gaussian (Meng and Wong 1996)."""
    first, second = posterior.draws[::2], posterior.draws[1::2]
    normal: Any = stats.multivariate_normal
    around = normal(first.mean(axis=0), np.cov(first.T))
    proposals = around.rvs(len(second), random_state=np.random.default_rng(0))
    ratios, others = (
        log_density_by_numpyro(posterior, points) - around.logpdf(points)
        for points in (second, proposals)
    )
    evidence = np.median(ratios)
    for _ in range(50):
        above = logsumexp(others - np.logaddexp(others, evidence))
        evidence = above - logsumexp(-np.logaddexp(ratios, evidence))
    return evidence


@pytest.mark.filterwarnings("ignore::cordial_ppl.errors.CordialWarning")
@pytest.mark.nightly
def test_five_parameters_by_bridge_sampling_and_chains_of_any_length():
    reference = cp.fit_nuts("mixture", LOGITS, LABELS, draws=400, chains=3, warmup=300)
    assert reference.draws.shape == (1200, 5)
    assert reference.diagnostics.chains == 3
    assert dict(reference.to_datatree()["posterior"].sizes) == {"chain": 3, "draw": 400}
    exact = bridge(reference)
    assert reference.log_evidence == pytest.approx(exact, abs=0.1)
    # Of the same label histogram, which is not smoothed for the paper's methods.
    case = Case(Labelled(CENTRED, LABELS), histogram=reference.histogram)
    for method in ("default", "laplace", "mode"):
        (sampled,) = fit_cases(reference.target, [case], method=method)
        assert sampled.fitted.log_evidence == pytest.approx(exact, abs=0.1)


@pytest.mark.parametrize(
    "name", ["mixture", pytest.param("location-vector", marks=pytest.mark.nightly)]
)
def test_the_mode_of_a_posterior_is_that_of_the_mode_alone(name):
    exact = cp.fit_channel(name, LOGITS, LABELS, method="mode")
    # Of the same label histogram, which is not smoothed for the paper's methods.
    case = Case(Labelled(CENTRED, LABELS), histogram=exact.histogram)
    (sampled,) = fit_cases(exact.target, [case])
    for posterior in (exact, sampled.fitted):
        for parameter, value in exact.mean().items():
            np.testing.assert_allclose(posterior.mode[parameter], value, rtol=1e-5, atol=1e-6)


def test_the_mode_is_the_one_that_the_paper_weighs_draws_around():
    names = list(cp.fit_channel("mixture", LOGITS, LABELS, method="mode").mean())
    posterior = cp.fit_laplace("mixture", LOGITS, LABELS, draws=20000, inflation=2.0, df=4)
    assert len(posterior.draws) == 20000 and list(posterior.mode) == names
    target, prior = posterior.target, posterior.replaced_prior
    assert posterior.coordinates == target.coordinates
    known = {"prior": prior, "readings": readings_of(posterior), "labels": jnp.asarray(LABELS)}
    density = partial(target.log_density, **known)
    (peak,) = cp.fit_channel("mixture", LOGITS, LABELS, method="mode").draws
    with jax.enable_x64(True):
        slope, curvature = (
            jax.jit(each(density))(jnp.asarray(peak)) for each in (jax.grad, jax.hessian)
        )
    np.testing.assert_allclose(slope, 0, atol=1e-4)
    np.testing.assert_allclose(posterior.covariance, np.linalg.inv(-curvature), rtol=1e-3)
    default = cp.fit_channel("mixture", LOGITS, LABELS)
    expected = np.cov(default.draws.T, aweights=default.weights, ddof=0)
    np.testing.assert_allclose(default.covariance, expected, rtol=1e-9)
    spread = np.sqrt(np.diag(default.covariance))
    apart = posterior.weights @ posterior.draws - default.weights @ default.draws
    assert np.abs(apart / spread).max() < 0.3  # .07, sd .03 over 20 seeds


def test_settings_of_a_method_are_refused_by_name():
    faults: Any = (
        (cp.fit_laplace, {"draws": 1}, "draws"),
        (cp.fit_laplace, {"inflation": 0.0}, "inflation"),
        (cp.fit_laplace, {"df": -1}, "df"),
        (cp.fit_nuts, {"draws": 3}, "draws"),
        (cp.fit_nuts, {"chains": 0}, "chains"),
        (cp.fit_nuts, {"warmup": -1}, "warmup"),
    )
    for fit_by, settings, named in faults:
        with pytest.raises(cp.InputError, match=named):
            fit_by("mixture", LOGITS, LABELS, **settings)
