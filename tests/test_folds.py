"""Carrying a posterior over to a fold: it must predict like a fit of the fold's own."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cordial_ppl.channels import CHANNELS
from cordial_ppl.inference import folds
from cordial_ppl.inference.folds import carry
from cordial_ppl.inference.problem import Problem, predict
from cordial_ppl.inference.target import build_target
from cordial_ppl.inference.tempering import sample_tempered
from cordial_ppl.readings import Readings, as_logits, label_histogram
from cordial_ppl.synthetic import reviews

TEXTS = reviews(64, seed=3)
LOGITS, LABELS = as_logits(TEXTS.logits), TEXTS.labels[:24]
ALL, FOLD = LABELS, np.where(np.arange(24) % 4 == 0, -1, LABELS)


def readings(labels, rows=slice(24)):
    return Readings(jnp.asarray(LOGITS[rows]), jnp.asarray(label_histogram(labels, 5)))


def rms(first, second):
    return float(jnp.sqrt(jnp.mean((first - second) ** 2)))


@pytest.mark.parametrize("name", ["mixture", "location-vector"])
@pytest.mark.parametrize("limit", [-1.0, np.inf], ids=["moved", "weighed"])
def test_a_fold_agrees_with_a_fit_of_its_own(name, limit, monkeypatch):
    monkeypatch.setattr(folds, "KHAT_LIMIT", limit)
    target = build_target(CHANNELS[name], 5)

    def problem(labels):
        return Problem(target, target.prior, readings(np.asarray(labels)), jnp.asarray(labels))

    fit = jax.jit(lambda key: sample_tempered(problem(ALL), key))
    fit_fold = jax.jit(lambda key: sample_tempered(problem(FOLD), key))
    run = jax.jit(lambda cloud, key: carry(problem(ALL), cloud, problem(FOLD), key))
    cloud = fit(jax.random.key(0))
    carried = run(cloud, jax.random.key(1))
    assert bool((carried.draws == cloud.draws).all()) == (limit > 0)
    assert carried.draws.dtype == cloud.draws.dtype
    np.testing.assert_allclose(jnp.exp(carried.log_weights).sum(), 1.0, rtol=1e-6)
    predictor = jax.jit(partial(predict, target))
    texts = readings(FOLD, slice(24, None))
    expected = predictor(fit_fold(jax.random.key(2)), texts)
    found, unchanged = predictor(carried, texts), predictor(cloud, texts)
    # Both sides carry Monte Carlo error; weights alone, of a few draws, more of it.
    assert rms(found, expected) < (0.03 if limit > 0 else 0.015)
    assert rms(found, expected) < rms(unchanged, expected)
