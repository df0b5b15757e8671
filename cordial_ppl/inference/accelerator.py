r"""Posteriors of many label subsets at once, in JAX alone, as an accelerator wants them.

A problem is a data set with all of its labels, or without one fold.  Programs take problems side by
side, as many as a bound on memory leaves room for, on each device of a one-dimensional mesh.  What
a problem comes to depends, up to rounding, neither on its neighbours nor on the number of devices.

What is sampled is the default posterior, in single precision, by the stages of
`cordial_ppl.inference.sampler`, each compiled for many problems side by side.  What follows from
the draws is computed on the host, and so are the other methods.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Int

from cordial_ppl.data.labelled import TILE, Data, pad
from cordial_ppl.inference import fitting, sampler
from cordial_ppl.inference.diagnostics import Draws
from cordial_ppl.inference.fitting import Case, CaseFit
from cordial_ppl.inference.moves import Gaussian, Particles, PCNState, init_pcn
from cordial_ppl.inference.programs import STEPS, pcn_program, tile_of, wide_tiles
from cordial_ppl.inference.sampler import DEFAULT_EFFORT, PRECISION, Effort, Problem, State
from cordial_ppl.inference.target import Prior, Target
from cordial_ppl.runtime.compilation import compiled

COPIES, CASES = 12, 256
"""Arrays of probabilities that a program holds at a time; data sets that wait for a call."""

AXIS = "problems"
AXES: Any = Data(0, 0, 0, 0, 0, None)  # type: ignore[arg-type]
"""Which arrays of texts have an axis of problems: not the number of tiles."""
SPREAD, WHOLE = PartitionSpec(AXIS), PartitionSpec()

CORE, CHIP = (2**30, 16), (2**32, 256)
"""Bytes, about, and problems at most that a call takes of a core of a CPU, which few keep busy, and
of an accelerator."""


def lanes(mesh: Mesh, points: int, target: Target, rows: int) -> int:
    """Compute how many problems of so many points and rows a device has room for."""
    each = COPIES * points * tile_of(rows) * target.options * np.dtype(PRECISION).itemsize
    memory, most = CHIP if is_wide(mesh) else CORE
    return int(np.clip(memory // each, 1, most))


def is_wide(mesh: Mesh) -> bool:
    """Tell accelerators from cores of a CPU."""
    return mesh.devices.flat[0].platform != "cpu"


class Problems(NamedTuple):
    """Priors and texts, each leaf with an axis of problems in front; seen labels come first."""

    prior: Prior
    data: Data

    def take(self, rows: Any) -> "Problems":
        """Return some of the problems."""
        return jax.tree.map(lambda leaf: leaf[rows], self)


def fit_batch(
    target: Target,
    cases: Sequence[Case],
    *,
    effort: Effort = DEFAULT_EFFORT,
    devices: Sequence[Any] = (),
) -> list[CaseFit]:
    """Fit a channel to data sets of as many labels and folds each by the default inference.

    Args:
        target: the channel.
        cases: the data sets.
        effort: how much work to do.
        devices: where problems are spread; by default all of JAX's backend.

    Returns:
        The fits, as of `cordial_ppl.inference.fitting.fit_cases`.

    Raises:
        InputError: a prior does not fit the channel.
    """
    mesh, sampled = Mesh(np.array(devices or jax.devices()), (AXIS,)), []
    precision = jax.default_matmul_precision("highest")
    with jax.enable_x64(True), precision, wide_tiles(is_wide(mesh)):
        for start in range(0, len(cases), CASES):
            sampled += _sample(target, cases[start : start + CASES], effort, mesh)
    with jax.enable_x64(True):
        pairs = zip(cases, sampled, strict=True)
        return [fitting.conclude(target, case, "default", draws) for case, draws in pairs]


def _stack(target: Target, cases: Sequence[Case]) -> Problems:
    """Pad and stack the data sets, and then those without each fold; seen labels come first."""
    room, parts = TILE, []
    while room < len(cases[0].texts.labels):
        room *= 4
    seen = [(case, case.texts.labels) for case in cases]
    seen += [(case, labels) for case in cases for labels in case.masks]
    for case, labels in seen:
        texts = replace(case.texts, labels=labels).take(np.argsort(labels < 0, kind="stable"))
        tiles = np.int32(-(-np.sum(labels >= 0) // tile_of(room)))
        data = pad(texts, case.histogram_of(labels), PRECISION, room)._replace(tiles=tiles)
        prior = Prior(*(np.asarray(part, PRECISION) for part in fitting.choose_prior(target, case)))
        parts.append(Problems(prior, data))
    return jax.tree.map(lambda *leaves: np.stack(leaves), *parts)


def _side_by_side(
    rows: Int[np.ndarray, " N"], room: int, mesh: Mesh, work: Callable[[np.ndarray], Any]
) -> Any:
    """Work on problems by their numbers, as many at a time as each device has room for."""
    width, parts = room * mesh.size, []
    for start in range(0, len(rows), width):
        chunk = rows[np.minimum(np.arange(start, start + width), len(rows) - 1)]
        used = len(rows) - start
        parts.append(jax.tree.map(lambda leaf: np.asarray(leaf)[:used], work(chunk)))  # noqa: B023
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def _compile(run: Callable[..., Any], mesh: Mesh) -> Callable[..., Any]:
    """Compile a program of problems, arrays and a number; each device has its share."""

    def local(prior: Prior, data: Data, arrays: Any, number: Array) -> Any:
        return run(prior, data._replace(tiles=data.tiles.max()), arrays, number)

    specs = (SPREAD, SPREAD, SPREAD, WHOLE)
    spread = jax.shard_map(local, mesh=mesh, in_specs=specs, out_specs=SPREAD, check_vma=False)
    return compiled(spread, spread=True)


@dataclass(frozen=True)
class Lanes(Problem):
    """Problems side by side: arrays of prior and data have an axis of them in front."""

    mesh: Mesh

    def _each(self, rngs: Sequence[Any], ask: Callable[..., Any]) -> Any:
        """Ask the problems one by one, as on the host, and stack what they answer."""
        rows = (Problems(self.prior, self.data).take(row) for row in range(len(rngs)))
        each = (Problem(self.target, *row) for row in rows)
        parts = [ask(problem, rng) for problem, rng in zip(each, rngs, strict=True)]
        return jax.tree.map(lambda *leaves: np.stack(leaves), *parts)

    def draw_prior(self, rng: Sequence[Any], draws: int) -> Any:
        """Draw whitened points from priors that are no Gaussians."""
        return self._each(rng, lambda problem, one: problem.draw_prior(one, draws))

    def draw_numbers(self, rng: Sequence[Any], normals: tuple, uniforms: tuple) -> Any:
        """Draw standard normal numbers, and uniform ones in (0, 1], in single precision."""
        return self._each(rng, lambda problem, one: problem.draw_numbers(one, normals, uniforms))

    def evaluate(self, points: Any, particles: int) -> tuple[Any, Any]:
        """Compute log priors and log likelihoods of whitened points, so many at once."""
        points = points.reshape(len(points), -1, particles, self.target.size)
        zero, line = points[:, 0, 0, 0], points[:, 0, :, 0]
        state = PCNState(Particles(points[:, 0], line, line), points[:, 0], zero, zero)
        unused = jnp.concatenate([points, points[..., :1]], axis=-1)
        logs = self._run(state, points[:, 0, 0], zero, points[..., 0], unused, points, False)[1]
        return tuple(log[:, : points.shape[1]].reshape(len(points), -1) for log in logs)  # type: ignore

    def move(self, state: State, normal: Any, uniform: Any) -> State:
        """Move the particles of states at their powers of the likelihood."""
        around, step = state.around, state.log_step
        begin = self.do(init_pcn, state.particles, around, step)
        for first in range(0, normal.shape[1], STEPS):
            some = normal[:, first : first + STEPS]
            part = uniform[:, first : first + STEPS]
            stretched = self.do(_stretch, around, some)
            begin, _ = self._run(begin, around.mean, state.temper, part, some, stretched, True)
        return state._replace(
            particles=begin.particles, log_step=begin.log_step, acceptance=begin.rate
        )

    def do(self, stage: Callable[..., Any], *args: Any, **settings: Any) -> Any:
        """Do what concerns one problem at a time."""
        return _stage(stage, self.mesh, tuple(settings.items()))(*args)

    def choose(self, active: Any, new: State, old: State) -> State:
        """Keep the states of problems that need no more."""
        return self.do(_choose, active, new, old)

    def _run(self, begin: PCNState, mean: Any, temper: Any, *numbers: Any) -> Any:
        *arrays, moving = numbers
        steps = arrays[0].shape[1]
        labels, shares = (
            np.repeat(part[:, None], STEPS, axis=1)
            for part in (self.data.labels, self.data.histogram)
        )
        data = self.data._replace(labels=labels, histogram=shares)
        room = [(0, 0), (0, STEPS - steps)]
        padded = [
            jnp.pad(each, room + [(0, 0)] * (each.ndim - 2), constant_values=1) for each in arrays
        ]
        begin = jax.tree.map(jnp.asarray, begin)
        arrays = [begin, mean, temper, *padded]
        number = np.int32(2 * steps + moving)
        return _pcn(self.target, self.mesh)(self.prior, data, arrays, number)


def _stretch(around: Gaussian, normal: Array) -> Array:
    return around.stretch(normal[..., :-1])


def _choose(active: Array, new: State, old: State) -> State:
    return jax.tree.map(partial(jnp.where, active), new, old)


@lru_cache(maxsize=512)
def _pcn(target: Target, mesh: Mesh) -> Callable[..., Any]:
    run = pcn_program(target)

    def many(prior: Prior, data: Data, arrays: list, number: Array) -> Any:
        def one(prior: Prior, data: Data, arrays: list) -> Any:
            return run(prior, data, *arrays, number // 2, number % 2 == 1)

        return jax.vmap(one, in_axes=(0, AXES, 0))(prior, data, arrays)

    return _compile(many, mesh)


@lru_cache(maxsize=512)
def _stage(stage: Callable[..., Any], mesh: Mesh, settings: tuple) -> Callable[..., Any]:
    """Compile a stage of one problem for many side by side."""

    def many(*args: Any) -> Any:
        return jax.vmap(partial(stage, **dict(settings)))(*args)

    sides: Any = {"in_specs": SPREAD, "out_specs": SPREAD}
    return compiled(jax.shard_map(many, mesh=mesh, check_vma=False, **sides), spread=True)


def _sample(
    target: Target, cases: Sequence[Case], effort: Effort, mesh: Mesh
) -> list[fitting.FoldDraws]:
    """Sample the default posterior of each data set, and carry its particles to the folds."""
    problems, folds = _stack(target, cases), len(cases[0].masks)
    count, rows = len(cases), problems.data.labels.shape[-1]
    room = lanes(mesh, effort.particles, target, rows)
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
        weighed = folds_.do(sampler.reweigh, parents, *logs)
        if not (poor := sampler.is_poor(weighed)).any():
            return weighed
        return folds_.choose(poor, sampler.refresh(folds_, effort, keys, weighed), weighed)

    state = _side_by_side(np.arange(count), room, mesh, sample)
    moved = None
    if folds:
        moved = _side_by_side(np.arange(count, count * (1 + folds)), room, mesh, carry)
    sampled = []
    for row, case in enumerate(cases):
        prior = fitting.choose_prior(target, case)

        def draws_of(states: State, at: int, prior: Prior = prior) -> Draws:
            one = jax.tree.map(lambda leaf: leaf[at], states)
            return fitting.as_draws(prior, one, effort)

        whole, places = draws_of(state, row), range(row * folds, (row + 1) * folds)
        parts = [] if moved is None else [draws_of(moved, at) for at in places]
        sampled.append(fitting.judge_folds(whole, parts) if parts else (whole, parts))
    return sampled
