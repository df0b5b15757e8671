r"""Posteriors of many label subsets at once, in JAX alone, as an accelerator wants them.

* The paper's method, in double precision: the searches, draws and weights of
  `cordial_ppl.inference.laplace`.
* The default posterior, in single precision: the stages of `cordial_ppl.inference.sampler`, each
  compiled for many problems side by side.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Float

from cordial_ppl.data.labelled import Data, Labelled
from cordial_ppl.inference import fitting, laplace, sampler
from cordial_ppl.inference.case import Case, CaseFit
from cordial_ppl.inference.diagnostics import Draws
from cordial_ppl.inference.effort import DEFAULT_EFFORT, Effort
from cordial_ppl.inference.lanes import (
    AXIS,
    Lanes,
    Problems,
    compile_spread,
    count_lanes,
    draw_priors,
    side_by_side,
    stack_problems,
    tile_on,
)
from cordial_ppl.inference.minimise import Ends, search
from cordial_ppl.inference.state import PRECISION, State, is_poor, reweigh
from cordial_ppl.inference.target import Prior, Target

CASES = 256
"""Data sets that wait for a call."""


class Sampled(NamedTuple):
    """Posteriors of N problems by weighted points.

    Attributes:
        problems: the problems, of the labels that the points have not counted yet.
        points: whitened points.
        begin: log weight of each point before those labels.
        collect: posterior of a data set, from its number and the log weights of its points.
    """

    problems: Problems
    points: Float[np.ndarray, "N S P"]
    begin: Float[np.ndarray, "N S"]
    collect: Callable[[int, np.ndarray], Draws]


def fit_batch(
    target: Target,
    cases: Sequence[Case],
    report: Labelled,
    *,
    method: str = "default",
    effort: Effort = DEFAULT_EFFORT,
    devices: Sequence[Any] = (),
) -> tuple[list[CaseFit], Float[np.ndarray, "C m K"]]:
    """Fit a channel to data sets of as many labels and folds each, and predict texts by each fit.

    Args:
        target: the channel.
        cases: the data sets.
        report: texts to predict, without labels.
        method: "default", "laplace" or "mode".
        effort: how much work the default does.
        devices: where problems are spread; by default all of JAX's backend.

    Returns:
        The fits, as of `cordial_ppl.inference.fitting.fit_cases`, and probabilities of the texts.

    Raises:
        InputError: a prior does not fit the channel, or the density is zero at all starts.
    """
    mesh, parts = Mesh(np.array(devices or jax.devices()), (AXIS,)), []
    with jax.enable_x64(True), jax.default_matmul_precision("highest"):
        for start in range(0, len(cases), CASES):
            some = [case.seen_by(method) for case in cases[start : start + CASES]]
            if method == "default":
                sampled = _fit_default(target, some, effort, mesh)
            else:
                sampled = _fit_literal(target, some, method, mesh)
            parts.append(_predict(target, some, report, mesh, sampled))
    fits, probs = zip(*parts, strict=True)
    return sum(fits, []), np.concatenate(probs)


def _fit_literal(target: Target, cases: Sequence[Case], method: str, mesh: Mesh) -> Sampled:
    """Fit by a method of the paper all labels and each fold afresh."""
    problems, folds = stack_problems(target, cases, np.float64, mesh), len(cases[0].masks)

    def draw(rows: np.ndarray) -> Any:
        seeds = np.full(len(rows), laplace.SEED, np.uint32)
        return draw_priors(target, problems.take(rows), mesh, laplace.STARTS - 1, seeds)

    count = len(cases)
    drawn = side_by_side(np.arange(count), -(-count // mesh.size), mesh, draw)
    starts = np.insert(drawn, 0, 0.0, axis=1)
    starts = np.concatenate([starts, starts.repeat(folds, axis=0)])
    modes = laplace.choose_modes(partial(search_modes, target, problems, mesh), starts)
    fitting.check_modes(target, modes)
    points = np.stack([mode.mean for mode in modes])[:, None]
    log_proposal = np.array([[mode.log_density] for mode in modes])
    if method == "laplace":
        rngs = [np.random.default_rng(case.seed) for case in cases]
        order = [*rngs, *(rng for rng in rngs for _ in range(folds))]
        drawn = zip(*map(laplace.draw_around, modes, order), strict=True)
        points, log_proposal = map(np.stack, drawn)

    def weigh(row: int, logs: np.ndarray) -> Draws:
        prior = fitting.choose_prior(target, cases[row])
        draws = prior.loc + prior.scale * points[row]
        logs = logs if method == "laplace" else np.zeros(1)
        return fitting.weigh_literal(method, modes[row], draws, logs)

    return Sampled(problems, points, -log_proposal, weigh)


def search_modes(
    target: Target,
    problems: Problems,
    mesh: Mesh,
    points: Float[np.ndarray, "N S P"],
    rounds: int = laplace.ROUNDS,
) -> Ends:
    """Search from whitened points of each problem, as `laplace.search_modes` does on the host."""
    rows = problems.data.labels.shape[-1]
    room = count_lanes(mesh, len(points), points.shape[1], target, np.float64, rows)
    run, number = _search(target, mesh), np.int32(rounds)

    def work(rows: np.ndarray) -> Ends:
        return run(*problems.take(rows), points[rows], number)

    *parts, taken = side_by_side(np.arange(len(points)), room, mesh, work)
    return Ends(*(part.reshape(-1, *part.shape[2:]) for part in parts), rounds=taken.max())


@lru_cache(maxsize=512)
def _search(target: Target, mesh: Mesh) -> Callable[..., Ends]:
    """Compile the searches of problems, all of each problem side by side."""

    def run(prior: Prior, data: Data, points: Array, rounds: Array) -> Ends:
        loss, going = partial(laplace.descend, target, prior, data), jnp.ones(len(points), bool)
        return search(loss, points, going, rounds, together=True)

    return compile_spread(run, mesh, xla_backend_optimization_level=1)


def _predict(
    target: Target, cases: Sequence[Case], report: Labelled, mesh: Mesh, sampled: Sampled
) -> tuple[list[CaseFit], Float[np.ndarray, "C m K"]]:
    """Predict the report by points of all labels and held-out texts by the others, and collect."""
    problems, points, begin, collect = sampled
    count, labels, run = len(cases), len(cases[0].texts.labels), _weigh(target, mesh)

    def weigh(part: Problems, rows: np.ndarray, texts: int) -> tuple[np.ndarray, np.ndarray]:
        size = part.data.labels.shape[1]
        room = count_lanes(mesh, len(rows), points.shape[1], target, points.dtype, size)
        tiles = tile_on(mesh, size)

        def work(rows: np.ndarray) -> Any:
            return run(*part.take(rows), (points[rows], begin[rows]), np.int32(-(-texts // tiles)))

        logs, probs = side_by_side(rows, room, mesh, work)
        return logs, probs.swapaxes(1, 2)[:, :texts].astype(np.float64)

    both = []
    for case in cases:
        pair = [(t.logits, t.labels, {**t.covariates}, t.weights) for t in (case.texts, report)]
        texts = Labelled(*jax.tree.map(lambda *leaves: np.concatenate(leaves), *pair))
        both.append(case._replace(texts=texts, folds=None))
    with_report = stack_problems(target, both, points.dtype, mesh)
    with_report.data.tiles[problems.data.tiles[:count] == 0] = 0
    logs, probs = weigh(with_report, np.arange(count), labels + len(report.labels))
    folds = np.arange(count, len(points)).reshape(count, -1)
    held_out = weigh(problems, folds.ravel(), labels)[1] if folds.size else probs[:0]
    fits = []
    for row, case in enumerate(cases):
        seen = None
        if case.folds is not None:
            seen = held_out[folds[row, case.folds] - count, np.arange(labels)]
            seen = seen / seen.sum(axis=1, keepdims=True)
        fits.append(CaseFit(fitting.make_posterior(target, case, collect(row, logs[row])), seen))
    return fits, probs[:, labels:] / probs[:, labels:].sum(axis=2, keepdims=True)


@lru_cache(maxsize=512)
def _weigh(target: Target, mesh: Mesh) -> Callable[..., Any]:
    """Compile weights of points, where tiles bear labels, and predictions of all texts."""

    def run(prior: Prior, data: Data, arrays: tuple[Array, Array], tiles: Array) -> Any:
        return laplace.weigh_points(target, prior, data, *arrays, tiles)

    return compile_spread(run, mesh)


def _fit_default(target: Target, cases: Sequence[Case], effort: Effort, mesh: Mesh) -> Sampled:
    """Sample the default posterior of each data set, and carry its particles to the folds."""
    problems, folds = stack_problems(target, cases, PRECISION, mesh), len(cases[0].masks)
    count, rows = len(cases), problems.data.labels.shape[-1]
    seeds = [case.seed for case in cases]
    seeds += [(*case.seed, 1 + fold) for case in cases for fold in range(folds)]

    def prepare(rows: np.ndarray) -> tuple[Lanes, list[np.random.Generator]]:
        generators = [sampler.generator(seeds[row]) for row in rows]
        return Lanes(target, *problems.take(rows), mesh), generators

    def sample(rows: np.ndarray) -> State:
        return sampler.sample(*prepare(rows), effort)

    def carry(rows: np.ndarray) -> State:
        folds_, keys = prepare(rows)
        parents = jax.tree.map(lambda leaf: leaf[(rows - count) // folds], state)
        logs = folds_.evaluate(jnp.asarray(parents.particles.points), effort.particles)
        weighed = folds_.do(reweigh, parents, *logs)
        return folds_.go_on(is_poor(weighed), sampler.refresh, effort, keys, weighed)

    # The folds of as many at a time: a program of their own would take as long to compile.
    room = count_lanes(mesh, count, effort.particles, target, PRECISION, rows)
    states = state = side_by_side(np.arange(count), room, mesh, sample)
    if folds:
        moved = side_by_side(np.arange(count, count * (1 + folds)), room, mesh, carry)
        states = jax.tree.map(lambda *leaves: np.concatenate(leaves), state, moved)

    def collect(row: int, logs: np.ndarray) -> Draws:
        last = jax.tree.map(lambda leaf: leaf[row], state)
        draws = fitting.as_draws(fitting.choose_prior(target, cases[row]), last, effort)
        if not folds:
            return draws
        worst = float(states.khat[count + row * folds :][:folds].max())
        return draws._replace(diagnostics=draws.diagnostics._replace(fold_khat=worst))

    # The weights are complete: no label is counted again.
    problems.data.tiles[:] = 0
    return Sampled(problems, states.particles.points, states.log_weights, collect)
