"""The flat log density: exact priors, agreement with NumPyro's own, and the contract of a model."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from golden import read_golden
from numpyro import handlers
from numpyro.distributions.transforms import SigmoidTransform
from numpyro.infer.util import log_density, potential_energy

import cordial_ppl as cp
from cordial_ppl.channels import CHANNELS
from cordial_ppl.inference.target import Prior, build_target

REFERENCE = read_golden("channels")
READINGS = cp.Readings(np.array(REFERENCE["logits"]), np.array(REFERENCE["histogram"]))
LABELS = np.array(REFERENCE["labels"])


def unravel(target, flat):
    return {site.name: site.unravel(flat) for site in target.sites}


def bounded(readings, labels=None):
    """A user's model: constrained parameters, a vector and a covariate."""
    width = jnp.asarray(numpyro.sample("width", dist.LogNormal(0.3, 0.7).expand([2]).to_event(1)))
    trust = dist.TransformedDistribution(dist.Normal(1.0, 2.0), SigmoidTransform())
    share = numpyro.sample("share", trust)
    slope = cp.sample_log_odds("slope", -1.0, 0.5)
    quality = readings.covariates["quality"][:, None] * jax.nn.sigmoid(slope)
    logits = readings.logits / width[0] + quality * (width[1] * jnp.arange(5.0))[None]
    probs = share * jax.nn.softmax(logits) + (1 - share) * readings.histogram[None]
    cp.observe(jnp.log(probs), labels)


def hierarchical(readings, labels=None):
    """Priors that are not fixed Gaussians: a scale of scales, a bounded one, a simplex."""
    spread = numpyro.sample("spread", dist.HalfNormal(1.0))
    bias = jnp.asarray(numpyro.sample("bias", dist.Normal(0.0, spread).expand([5]).to_event(1)))
    trust = jnp.asarray(numpyro.sample("trust", dist.Kumaraswamy(2.0, 1.0)))
    base = jnp.asarray(numpyro.sample("base", dist.Dirichlet(jnp.full(5, 2.0))))
    temperature = numpyro.sample("temperature", dist.LogNormal(0.5, 1.0))
    stated = jax.nn.softmax(readings.logits / temperature + bias[None])
    cp.observe(None, labels, probs=trust * stated + (1 - trust) * base[None])


def scaled(readings, labels=None):
    """Scaled likelihood and priors: one that is Gaussian, a vector in a plate, a bounded one."""
    with handlers.scale(scale=0.3):
        slope = numpyro.sample("slope", dist.LogNormal(0.2, 0.7))
        with numpyro.plate("options", 5):
            bias = numpyro.sample("bias", dist.HalfNormal(2.0))
    with handlers.scale(scale=2.5):
        trust = jnp.asarray(numpyro.sample("trust", dist.Kumaraswamy(2.0, 1.0)))
    offset = numpyro.sample("offset", dist.Normal(0.5, 1.5))
    shift = jnp.asarray(bias) + offset * jnp.arange(5.0)
    stated = jax.nn.softmax(slope * readings.logits + shift[None], axis=1)
    probs = trust * stated + (1 - trust) * readings.histogram[None]
    with handlers.scale(scale=0.1), handlers.mask(mask=jnp.arange(len(stated)) % 3 > 0):
        cp.observe(None, labels, probs=probs)


def moving(readings, labels=None):
    """A prior that depends on the histogram."""
    shift = numpyro.sample("shift", dist.Normal(10.0 * readings.histogram[0], 0.1))
    cp.observe(jax.nn.log_softmax(readings.logits * shift, axis=1), labels)


BOUNDED = cp.channels.Channel("bounded", bounded)
SCALED = cp.channels.Channel("scaled", scaled)
HIERARCHICAL = cp.channels.Channel("hierarchical", hierarchical)
QUALITY = READINGS._replace(covariates={"quality": np.linspace(-1, 1, len(LABELS))})
MODELS = {name: (channel, READINGS) for name, channel in CHANNELS.items()}
MODELS |= {"bounded": (BOUNDED, QUALITY), "hierarchical": (HIERARCHICAL, READINGS)}
MODELS |= {
    "scaled": (SCALED, READINGS),
    "moving": (cp.channels.Channel("moving", moving), READINGS),
}


def target_of(name):
    channel, readings = MODELS[name]
    return build_target(channel, 5, tuple(readings.covariates))


@pytest.mark.parametrize("name", REFERENCE["channels"])
def test_golden_density_and_gradient(name):
    golden, target = REFERENCE["channels"][name], target_of(name)
    density = jax.jit(jax.value_and_grad(target.log_density))
    likelihood = jax.jit(target.log_likelihood)
    theta = np.array(golden["theta"])
    value, slope = density(theta, target.prior, READINGS, LABELS)
    assert float(value) == pytest.approx(golden["log_density"], abs=1e-8)
    np.testing.assert_allclose(slope, golden["gradient"], rtol=0, atol=1e-8)
    found = jax.jit(target.log_prior)(theta, target.prior, READINGS)
    assert float(found) == pytest.approx(golden["log_prior"], abs=1e-8)
    for point in golden["extreme"]:
        theta = np.array(point["theta"])
        value, slope = density(theta, target.prior, READINGS, LABELS)
        assert float(value) == pytest.approx(point["log_density"], abs=1e-8)
        assert np.isfinite(slope).all()
        found = likelihood(theta, READINGS, LABELS)
        assert float(found) == pytest.approx(point["log_likelihood"], abs=1e-8)


@pytest.mark.parametrize("name", REFERENCE["channels"])
def test_the_priors_are_the_gaussians_of_the_paper(name):
    golden, target = REFERENCE["channels"][name], target_of(name)
    assert all(site.gaussian for site in target.sites)
    np.testing.assert_allclose(target.prior.loc, golden["prior_loc"], rtol=1e-15)
    np.testing.assert_allclose(target.prior.scale, golden["prior_scale"], rtol=1e-15)
    names = ["temperature", "offset", "gain", "concentration", "strength_log_odds"]
    names = [names[0], names[-1]] if "scalar" in name else names
    vector = [f"{kind}[{k}]" for kind in ("log_scale", "bias") for k in range(5)]
    assert target.coordinates == (names + vector if "vector" in name else names)


def test_fixed_gaussian_priors_are_found_and_others_are_not_taken_for_them():
    target = target_of("bounded")
    assert target.coordinates == ["width[0]", "width[1]", "share", "slope_log_odds"]
    np.testing.assert_allclose(target.prior.loc, [0.3, 0.3, 1.0, -1.0], rtol=1e-15)
    np.testing.assert_allclose(target.prior.scale, [0.7, 0.7, 2.0, 0.5], rtol=1e-15)
    assert all(site.gaussian for site in target.sites)
    fixed = {site.name: site.gaussian for site in target_of("hierarchical").sites}
    assert fixed.pop("temperature") and not any(fixed.values()) and len(fixed) == 4
    target = build_target(cp.channels.Channel("child", _child), 2)
    scale = target.prior.scale * jnp.array([2.0, 1.0])
    assert target.check_prior(Prior(target.prior.loc, scale)).scale[0] == 2.0
    with pytest.raises(cp.InputError, match="centre"):
        target.check_prior(Prior(target.prior.loc, target.prior.scale * 2))
    with pytest.raises(cp.InputError, match="2 locations"):
        target.check_prior(Prior(jnp.zeros(3), jnp.ones(3)))
    with pytest.raises(cp.InputError, match="positive"):
        target.check_prior(Prior(jnp.zeros(2), jnp.zeros(2)))
    target = build_target(cp.channels.Channel("child", _child), 2)
    readings = cp.Readings(jnp.zeros((3, 2)), jnp.full(2, 0.5), {})
    draws = prior_draws(target, readings, 400)
    assert np.std(draws[:, 1] - draws[:, 0]) < 0.02  # .0099, sd .0004 over 20 seeds
    assert 0.8 < np.std(draws[:, 0]) < 1.2  # .99, sd .03


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.nightly)
        if name in CHANNELS and name not in ("mixture", "bridge")
        else name
        for name in MODELS
    ],
)
def test_the_density_is_that_of_numpyro(name):
    (channel, readings), target = MODELS[name], target_of(name)
    density = jax.jit(target.log_density)
    energy = jax.jit(
        lambda flat, *arrays: potential_energy(channel.model, arrays, {}, unravel(target, flat))
    )
    for seed in range(3):
        flat = jnp.asarray(np.random.default_rng(seed).normal(size=target.size))
        expected = -energy(flat, readings, LABELS)
        found = density(flat, target.prior, readings, LABELS)
        assert float(found) == pytest.approx(float(expected), abs=1e-10)


def test_scales_and_masks_count_as_numpyro_counts_them():
    target = target_of("scaled")
    kinds = {site.name: (site.gaussian, site.scaled) for site in target.sites}
    own = dict.fromkeys(["slope", "bias", "trust"], (False, True))
    assert kinds == own | {"offset": (True, False)}
    flat = jnp.asarray(np.random.default_rng(0).normal(size=target.size))
    named = {name: draws[0] for name, draws in target.name(np.asarray(flat)[None]).items()}

    def label_density(named):
        _, trace = log_density(SCALED.model, (READINGS, LABELS), {}, named)
        return trace["label"]["scale"] * trace["label"]["fn"].log_prob(LABELS)

    logs, probs = jax.jit(target.pointwise)(flat, READINGS, LABELS)
    np.testing.assert_allclose(logs, jax.jit(label_density)(named), rtol=1e-12)
    assert (np.asarray(logs)[::3] == 0).all() and float(logs.sum()) > -5
    np.testing.assert_allclose(probs, jax.jit(target.probs)(flat, READINGS), rtol=1e-12)
    # Particles begin at them; what the scale adds is counted apart.
    target = target_of("scaled")
    draws = prior_draws(target, READINGS, 400)
    assert np.std(draws[:, 0]) == pytest.approx(0.7, abs=0.1)  # .693, sd .027 over 20 seeds
    flat = jnp.asarray(draws[0])
    own = jax.jit(target.log_prior_terms)(flat, target.prior, READINGS)[0]
    assert float(own) == pytest.approx(float(dist.Normal(0.2, 0.7).log_prob(flat[0])), abs=1e-10)
    scale = target.prior.scale * np.eye(target.size)[0] + target.prior.scale
    rounded = Prior(target.prior.loc * (1 + 1e-9), target.prior.scale * (1 - 1e-9))
    np.testing.assert_array_equal(target.check_prior(rounded).loc, rounded.loc)
    with pytest.raises(cp.InputError, match="'slope' is not a fixed Gaussian"):
        target.check_prior(Prior(target.prior.loc, scale))

    def masked(readings, labels=None):
        with handlers.mask(mask=False):
            slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
        cp.observe(jax.nn.log_softmax(slope * readings.logits, axis=1), labels)

    with pytest.raises(cp.ChannelError, match="masks the prior of 'slope'"):
        build_target(cp.channels.Channel("masked", masked), 5)
    with pytest.raises(cp.InputError, match="needs the covariate 'quality'"):
        build_target(BOUNDED, 5)


def prior_draws(target, readings, count):
    run = jax.jit(lambda *own: target.sample_prior(*own, count))
    return np.asarray(run(jax.random.key(1), target.prior, readings))


def _child(readings, labels=None):
    mean = numpyro.sample("mean", dist.Normal(0.0, 1.0))
    centre = numpyro.sample("centre", dist.Normal(mean, 0.01))
    logits = jnp.stack([jnp.zeros_like(readings.logits[:, 0]), readings.logits[:, 1] + centre], 1)
    cp.observe(jax.nn.log_softmax(logits), labels)
