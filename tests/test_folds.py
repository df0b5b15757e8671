"""Carrying a posterior over to a fold: it must predict like a fit of the fold's own."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cordial_ppl.channels import CHANNELS
from cordial_ppl.inference import state
from cordial_ppl.inference.fit import fit_lanes
from cordial_ppl.inference.folds import sample_lanes
from cordial_ppl.inference.lanes import make_lanes
from cordial_ppl.inference.problem import Problem, predict, problem_in_precision
from cordial_ppl.inference.sampler import (
    DEFAULT_EFFORT,
    Effort,
    Phase,
    as_cloud,
    from_particles,
    from_prior,
)
from cordial_ppl.inference.target import build_target
from cordial_ppl.inference.tempering import advance
from cordial_ppl.readings import Readings, as_logits, label_histogram
from cordial_ppl.stacking import assign_folds
from cordial_ppl.synthetic import reviews

TEXTS = reviews(64, seed=3)
LOGITS, LABELS = as_logits(TEXTS.logits), TEXTS.labels[:24]
ALL, FOLD = LABELS, np.where(np.arange(24) % 4 == 0, -1, LABELS)


def readings(labels, rows=slice(24)):
    return Readings(jnp.asarray(LOGITS[rows]), jnp.asarray(label_histogram(labels, 5)))


TEST = readings(FOLD, slice(24, None))


def rms(first, second):
    return float(jnp.sqrt(jnp.mean((first - second) ** 2)))


def given(labels):
    return readings(labels), jnp.asarray(labels)


@cache
def programs(name):
    """A channel's problem; where its particles begin, where they end, and what they predict."""
    target = build_target(CHANNELS[name], 5)

    def problem(readings, labels):
        return problem_in_precision(Problem(target, target.prior, readings, labels))

    def begin(readings, labels):
        return from_prior(problem(readings, labels), DEFAULT_EFFORT)

    def end(readings, labels, state, key):
        return advance(problem(readings, labels), state, key, DEFAULT_EFFORT)

    def probs(readings, labels, state):
        return predict(target, as_cloud(problem(readings, labels), state), TEST)

    return problem, *map(jax.jit, (begin, end, probs))


@cache
def fitted(name, without_fold, seed):
    own = given(FOLD if without_fold else ALL)
    _, begin, end, _ = programs(name)
    return end(*own, begin(*own), jax.random.key(seed))


@pytest.mark.parametrize("name", ["mixture", "location-vector"])
@pytest.mark.parametrize("limit", [-1.0, np.inf], ids=["moved", "weighed"])
def test_a_fold_agrees_with_a_fit_of_its_own(name, limit, monkeypatch):
    problem, _, end, probs = programs(name)
    whole, alone = fitted(name, False, 0), fitted(name, True, 2)
    monkeypatch.setattr(state, "KHAT_LIMIT", limit)
    own = given(FOLD)
    start = jax.jit(lambda particles: from_particles(problem(*own), particles))(whole.particles)
    carried = end(*own, start, jax.random.key(1))
    kept = bool((carried.particles.points == whole.particles.points).all())
    assert kept == (limit > 0) and int(carried.stages) == (limit < 0)
    assert int(carried.phase) == Phase.DONE
    assert float(carried.khat) == float(start.khat) < 2
    found, expected, unchanged = (probs(*own, each) for each in (carried, alone, whole))
    # Both sides carry Monte Carlo error; weights alone, of a few draws, more of it.
    assert rms(found, expected) < (0.03 if limit > 0 else 0.015)
    assert rms(found, expected) < rms(unchanged, expected)


def test_moves_keep_the_log_density_of_where_particles_are():
    problem, *_ = programs("mixture")
    particles = fitted("mixture", False, 0).particles
    evaluate = jax.jit(lambda points: problem(*given(ALL)).evaluate(points))
    log_prior, log_likelihood = evaluate(particles.points)
    np.testing.assert_allclose(particles.log_prior, log_prior, rtol=1e-5)
    np.testing.assert_allclose(particles.log_likelihood, log_likelihood, rtol=1e-5)


@pytest.mark.parametrize("name", ["location", "mixture"])
def test_a_family_fits_each_channel_as_alone(name):
    """One program for two channels draws what a program for either does."""
    targets = tuple(build_target(CHANNELS[each], 5) for each in ("mixture", "location"))
    own = build_target(CHANNELS[name], 5)
    lanes = make_lanes(LOGITS[:24], LABELS, assign_folds(24, 4, np.random.default_rng(0)))
    key = jax.random.key(0)
    alone = fit_lanes(own, lanes, key)
    together = fit_lanes(own, lanes, key, family=targets)
    np.testing.assert_allclose(together.held_out, alone.held_out, rtol=0, atol=0.01)
    means, spread = (np.asarray(moment(alone.cloud.draws, axis=0)) for moment in (np.mean, np.std))
    gap = np.asarray(together.cloud.draws).mean(axis=0) - means
    assert np.abs(gap / spread).max() < 0.15


def test_a_batch_fits_each_data_set_as_alone():
    """Under ``vmap`` every branch runs, and loops go on until the slowest is done."""
    target = build_target(CHANNELS["mixture"], 5)
    effort = Effort(particles=256, proposals=16)
    folds = assign_folds(24, 4, np.random.default_rng(0))
    rows = [slice(0, 24), slice(24, 48)]
    sets = [make_lanes(LOGITS[own], TEXTS.labels[own], folds) for own in rows]
    many = jax.tree.map(lambda *leaves: np.stack(leaves), *sets)
    keys = jax.random.split(jax.random.key(0), 2)

    def run(lanes, key):
        return sample_lanes(target, lanes, target.prior, key, effort)

    together = jax.jit(jax.vmap(run))(many, keys)
    alone = jax.jit(run)
    for place, lanes in enumerate(sets):
        own = alone(lanes, keys[place])
        assert rms(together.held_out[place], own.held_out) < 0.02
        gap = together.cloud.draws[place].mean(axis=0) - own.cloud.draws.mean(axis=0)
        assert float(jnp.abs(gap / own.cloud.draws.std(axis=0)).max()) < 0.3
