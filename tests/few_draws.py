"""Default posteriors of twenty labels, which several tests compile once."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np

from cordial_ppl.channels import CHANNELS
from cordial_ppl.inference.problem import Problem, predict
from cordial_ppl.inference.sampler import Effort
from cordial_ppl.inference.target import build_target
from cordial_ppl.inference.tempering import sample_tempered
from cordial_ppl.readings import Readings, as_logits, label_histogram
from cordial_ppl.synthetic import reviews

ROWS = 24
TEXTS = reviews(60, seed=3)
LOGITS = as_logits(TEXTS.logits)
LABELS = np.pad(TEXTS.labels[:20], (0, ROWS - 20), constant_values=-1)


def readings(labels, rows=slice(ROWS)):
    histogram = jnp.asarray(label_histogram(labels, 5))
    return Readings(jnp.asarray(LOGITS[rows]), histogram)


@cache
def solver(channel, size=5, effort=None, covariates=()):
    """Sample a posterior, as a function of readings, labels and a seed."""
    target = build_target(channel, size, covariates)

    def run(readings, labels, seed):
        problem = Problem(target, target.prior, readings, labels)
        return sample_tempered(problem, jax.random.key(seed), effort or Effort())

    return jax.jit(run)


@cache
def fitted(name, seed):
    return solver(CHANNELS[name])(readings(LABELS), jnp.asarray(LABELS), seed)


@cache
def predictor(name):
    return jax.jit(partial(predict, build_target(CHANNELS[name], 5)))
