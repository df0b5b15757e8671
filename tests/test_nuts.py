"""NUTS and the default posterior are two methods for one density: they must agree."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from cordial_ppl.channel import Channel, observe
from cordial_ppl.channels import CHANNELS
from cordial_ppl.inference.nuts import CHAINS, sample_nuts, scatter
from cordial_ppl.inference.posterior import diagnose
from cordial_ppl.inference.problem import Problem, predict
from cordial_ppl.inference.target import build_target
from cordial_ppl.inference.tempering import sample_tempered
from cordial_ppl.readings import Readings, as_logits, label_histogram
from cordial_ppl.synthetic import reviews

TEXTS = reviews(60, seed=3)
LOGITS = jnp.asarray(as_logits(TEXTS.logits))
LABELS = TEXTS.labels[:20]
# A quarter in each chain: R-hat is judged, and chains of a few hundred still disagree.
DRAWS = 4000


@pytest.mark.parametrize(("name", "size"), [("mixture", 5), ("location-vector", 15)])
def test_the_default_agrees_with_nuts(name, size):
    target = build_target(CHANNELS[name], 5)
    assert target.size == size
    histogram = jnp.asarray(label_histogram(LABELS, 5))
    problem = Problem(target, target.prior, Readings(LOGITS[:20], histogram), jnp.asarray(LABELS))
    reference = sample_nuts(problem, jax.random.key(0), draws=DRAWS)
    found = jax.jit(lambda key: sample_tempered(problem, key))(jax.random.key(1))
    run = jax.jit(partial(predict, target))
    texts = Readings(LOGITS[20:], histogram)
    error = np.asarray(run(found, texts)) - np.asarray(run(reference, texts))
    assert np.sqrt(np.mean(error**2)) < 0.02
    assert reference.draws.shape == (DRAWS, size)
    judged = diagnose("nuts", reference)
    assert judged.method == "nuts" and judged.ess > 10 and judged.acceptance > 0.8
    assert np.isnan(judged.khat) and judged.repairs == 0
    assert 0 <= judged.divergences < 0.05 * DRAWS


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
    readings = Readings(LOGITS[:20], jnp.asarray(label_histogram(LABELS, 5)))
    problem = Problem(target, target.prior, readings, jnp.asarray(LABELS))
    begin = jax.jit(partial(scatter, problem))(jax.random.key(0))
    assert begin.shape == (CHAINS, target.size)
    assert (jnp.std(begin, axis=0) > 0.1).all()
    assert np.isfinite(jax.jit(jax.vmap(problem.log_density))(begin)).all()
