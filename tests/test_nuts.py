"""NUTS and the default posterior are two methods for one density: they must agree."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from few_draws import LABELS, ROWS, fitted, predictor, readings

from cordial_ppl.channel import Channel, observe
from cordial_ppl.channels import CHANNELS
from cordial_ppl.inference.nuts import CHAINS, sample_nuts, scatter
from cordial_ppl.inference.posterior import diagnose
from cordial_ppl.inference.problem import Problem
from cordial_ppl.inference.target import build_target

# A quarter in each chain: R-hat is judged, and chains of a few hundred still disagree.
DRAWS = 2000


@pytest.mark.parametrize(("name", "size"), [("mixture", 5), ("location-vector", 15)])
def test_the_default_agrees_with_nuts(name, size):
    target = build_target(CHANNELS[name], 5)
    assert target.size == size
    problem = Problem(target, target.prior, readings(LABELS), jnp.asarray(LABELS))
    reference = sample_nuts(problem, jax.random.key(0), draws=DRAWS)
    texts = readings(LABELS, slice(ROWS, None))
    found, expected = (predictor(name)(draws, texts) for draws in (fitted(name, 1), reference))
    error = np.asarray(found) - np.asarray(expected)
    assert np.sqrt(np.mean(error**2)) < 0.02
    assert reference.draws.shape == (DRAWS, size)
    judged = diagnose("nuts", reference)
    assert judged.method == "nuts" and judged.ess > 10 and judged.acceptance > 0.8
    assert np.isnan(judged.khat) and judged.repairs == 0
    figures = reference.transitions
    assert 0 <= judged.divergences < 0.05 * DRAWS
    assert judged.divergences == int(figures["diverging"].sum())
    assert set(figures) == {"diverging", "acceptance_rate", "energy", "n_steps"}
    assert {np.shape(own) for own in figures.values()} == {(DRAWS,)}


def cut(readings, labels=None):
    """A model with names of its own, whose likelihood is zero for half of the prior."""
    slope = numpyro.sample("slope", dist.Normal(0.0, 3.0))
    allowed = jnp.where(jnp.asarray(slope) > 0, 0.0, -jnp.inf)
    observe(jax.nn.log_softmax(slope * readings.logits, axis=1) + allowed, labels)


@pytest.mark.parametrize(
    "channel", [Channel("cut", cut), CHANNELS["mixture"]], ids=["own", "paper"]
)
def test_chains_begin_at_different_points_of_the_prior(channel):
    target = build_target(channel, 5)
    problem = Problem(target, target.prior, readings(LABELS), jnp.asarray(LABELS))
    begin = jax.jit(partial(scatter, problem))(jax.random.key(0))
    assert begin.shape == (CHAINS, target.size)
    assert (jnp.std(begin, axis=0) > 0.1).all()
    assert np.isfinite(jax.jit(jax.vmap(problem.log_density))(begin)).all()
