"""Problems side by side, as many as a bound on memory leaves room for, on each device of a mesh.

A problem is a data set with all of its labels, or without one fold.  What it comes to depends, up
to rounding, neither on its neighbours nor on the number of devices.  `Lanes` are to the stages of
`cordial_ppl.inference.sampler` what its `Problem` is, with an axis of problems in front.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Float, Int, Integer

from cordial_ppl.data.labelled import TILE, Data, pad
from cordial_ppl.inference.case import Case
from cordial_ppl.inference.fitting import choose_prior
from cordial_ppl.inference.moves import Gaussian, Particles, PCNState, init_pcn
from cordial_ppl.inference.programs import QUICK, draw_from_model, draw_prior, pcn_program
from cordial_ppl.inference.programs import STEPS as STEPS_AT_ONCE
from cordial_ppl.inference.sampler import Problem
from cordial_ppl.inference.state import State
from cordial_ppl.inference.target import Prior, Target, convert_prior
from cordial_ppl.inference.tiles import tile_of, wide_tiles
from cordial_ppl.runtime.compilation import compiled

AXIS = "problems"
AXES: Any = Data(0, 0, 0, 0, 0, None)  # type: ignore[arg-type]
"""Which arrays of texts have an axis of problems: not the number of tiles."""
SPREAD, WHOLE = PartitionSpec(AXIS), PartitionSpec()

COPIES = 12
"""Arrays of probabilities that a program holds at a time, at most."""

CORE, BUSY, CHIP = 2**30, 16, 2**32
"""Bytes, about, that a call takes of a core of a CPU, and problems, which keep it busy; and bytes
of an accelerator that does not say how much memory it has."""


def memory(mesh: Mesh) -> int:
    """Return the bytes that a call may take of a device: half of an accelerator's."""
    if not is_wide(mesh):
        return CORE
    stats = mesh.devices.flat[0].memory_stats() or {}
    return stats.get("bytes_limit", CHIP) // 2


def count_lanes(
    mesh: Mesh, problems: int, points: int, target: Target, dtype: Any, rows: int
) -> int:
    """Compute how many problems a device takes at a time, as far as its memory allows.

    Few problems have a program of their own, so that it computes hardly any that nobody wants.

    Args:
        mesh: the devices.
        problems: how many there are.
        points: of each problem that are evaluated at a time.
        target: the channel.
        dtype: precision.
        rows: of texts that there is room for.
    """
    each = COPIES * points * tile_on(mesh, rows) * target.options * np.dtype(dtype).itemsize
    room = memory(mesh) // each if is_wide(mesh) else min(memory(mesh) // each, BUSY)
    share = -(-problems // mesh.size)
    # Three digits, in base two: few different programs.
    step = 2 ** max(share.bit_length() - 3, 0)
    return max(min(room, -(-share // step) * step), 1)


def is_wide(mesh: Mesh) -> bool:
    """Tell accelerators from cores of a CPU."""
    return mesh.devices.flat[0].platform != "cpu"


def tile_on(mesh: Mesh, rows: int) -> int:
    """Return the rows that programs of a mesh compute at a time."""
    with wide_tiles(is_wide(mesh)):
        return tile_of(rows)


class Problems(NamedTuple):
    """Priors and texts, each leaf with an axis of problems in front; seen labels come first."""

    prior: Prior
    data: Data

    def take(self, rows: Any) -> "Problems":
        """Return some of the problems."""
        return jax.tree.map(lambda leaf: leaf[rows], self)


def stack_problems(target: Target, cases: Sequence[Case], dtype: Any, mesh: Mesh) -> Problems:
    """Pad and stack data sets of as many texts each, and after them each without its folds.

    Args:
        target: the channel.
        cases: the data sets.
        dtype: precision.
        mesh: the devices.
    """
    room, parts = TILE, []
    while room < len(cases[0].texts.labels):
        room *= 4
    sets = [(case, case.texts.labels) for case in cases]
    sets += [(case, labels) for case in cases for labels in case.masks]
    for case, labels in sets:
        seen, last = replace(case.texts, labels=labels), np.flatnonzero(labels >= 0)[-1]
        tiles = np.int32(1 + last // tile_on(mesh, room))
        data = pad(seen, case.histogram_of(labels), dtype, room)._replace(tiles=tiles)
        parts.append(Problems(convert_prior(choose_prior(target, case), dtype), data))
    return jax.tree.map(lambda *leaves: np.stack(leaves), *parts)


def side_by_side(
    rows: Int[np.ndarray, " N"], room: int, mesh: Mesh, work: Callable[[np.ndarray], Any]
) -> Any:
    """Work on problems by their numbers, as many at a time as each device has room for."""
    width, parts = room * mesh.size, []
    for start in range(0, len(rows), width):
        chunk = rows[np.minimum(np.arange(start, start + width), len(rows) - 1)]
        used = len(rows) - start
        parts.append(jax.tree.map(lambda leaf: np.asarray(leaf)[:used], work(chunk)))  # noqa: B023
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def compile_spread(run: Callable[..., Any], mesh: Mesh, **options: Any) -> Callable[..., Any]:
    """Compile a program of one problem for many of them; each device has its share."""

    def local(prior: Prior, data: Data, arrays: Any, number: Array) -> Any:
        # What is traced keeps its tiles: programs of the host, traced elsewhere, have their own.
        with wide_tiles(is_wide(mesh)):
            data = data._replace(tiles=data.tiles.max())
            return jax.vmap(run, in_axes=(0, AXES, 0, None))(prior, data, arrays, number)

    specs = (SPREAD, SPREAD, SPREAD, WHOLE)
    spread = jax.shard_map(local, mesh=mesh, in_specs=specs, out_specs=SPREAD, check_vma=False)
    return compiled(spread, spread=True, **options)


def draw_priors(
    target: Target, problems: Problems, mesh: Mesh, draws: int, seeds: Integer[np.ndarray, " N"]
) -> Float[Any, "N S P"]:
    """Draw whitened points from the prior of each problem, those that the host draws."""
    if not target.gaussian:
        settings = ("target", target), ("draws", draws)
        return _stage(draw_from_model, mesh, settings)(*problems, seeds)
    each = (problems.take(row) for row in range(len(seeds)))
    drawn = (draw_prior(target, *row, draws, seed) for row, seed in zip(each, seeds, strict=True))
    return np.stack([*drawn])


@dataclass(frozen=True)
class Lanes(Problem):
    """Problems side by side: arrays of prior and data have an axis of them in front."""

    mesh: Mesh

    def draw_prior(self, rng: Sequence[Any], draws: int) -> Any:
        """Draw whitened points from priors that are no Gaussians."""
        seeds = np.array([one.integers(2**32, dtype=np.uint32) for one in rng])
        return draw_priors(self.target, Problems(self.prior, self.data), self.mesh, draws, seeds)

    def draw_numbers(self, rng: Sequence[Any], normals: tuple, uniforms: tuple) -> Any:
        """Draw numbers for each problem, the host's own, so that its fits are those of the host."""
        each = [super(Lanes, self).draw_numbers(one, normals, uniforms) for one in rng]
        return tuple(map(np.stack, zip(*each, strict=True)))

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
        end = self.do(init_pcn, state.particles, around, step)
        for first in range(0, normal.shape[1], STEPS_AT_ONCE):
            some = normal[:, first : first + STEPS_AT_ONCE]
            part = uniform[:, first : first + STEPS_AT_ONCE]
            stretched = self.do(Gaussian.stretch, around, some[..., :-1])
            end, _ = self._run(end, around.mean, state.temper, part, some, stretched, True)
        return state._replace(particles=end.particles, log_step=end.log_step, acceptance=end.rate)

    def do(self, stage: Callable[..., Any], *args: Any, **settings: Any) -> Any:
        """Do what concerns one problem at a time."""
        return _stage(stage, self.mesh, tuple(settings.items()))(*args)

    def go_on(
        self, active: Any, stage: Callable[..., State], effort: Any, rng: Any, state: State
    ) -> State:
        """Do a stage; problems that need no more keep their states and random numbers."""
        if not (some := np.asarray(active)).any():
            return state
        sources = [one if going else deepcopy(one) for one, going in zip(rng, some, strict=True)]
        return self.do(_choose, active, stage(self, effort, sources, state), state)

    def _run(self, begin: PCNState, mean: Any, temper: Any, *numbers: Any) -> Any:
        *arrays, moving = numbers
        steps = arrays[0].shape[1]
        parts = self.data.labels, self.data.histogram
        labels, shares = (np.repeat(part[:, None], STEPS_AT_ONCE, axis=1) for part in parts)
        data = self.data._replace(labels=labels, histogram=shares)
        room = [(0, 0), (0, STEPS_AT_ONCE - steps)]
        padded = [
            jnp.pad(each, room + [(0, 0)] * (each.ndim - 2), constant_values=1) for each in arrays
        ]
        begin = jax.tree.map(jnp.asarray, begin)
        arrays = [begin, mean, temper, *padded]
        number = np.int32(2 * steps + moving)
        return _pcn(self.target, self.mesh)(self.prior, data, arrays, number)


def _choose(active: Array, new: State, old: State) -> State:
    return jax.tree.map(partial(jnp.where, active), new, old)


@lru_cache(maxsize=512)
def _pcn(target: Target, mesh: Mesh) -> Callable[..., Any]:
    run = pcn_program(target)

    def one(prior: Prior, data: Data, arrays: list, number: Array) -> Any:
        return run(prior, data, *arrays, number // 2, number % 2 == 1)

    return compile_spread(one, mesh, **({} if is_wide(mesh) else QUICK))


@lru_cache(maxsize=512)
def _stage(stage: Callable[..., Any], mesh: Mesh, settings: tuple) -> Callable[..., Any]:
    """Compile a stage of one problem for many side by side."""

    def many(*args: Any) -> Any:
        return jax.vmap(partial(stage, **dict(settings)))(*args)

    sides: Any = {"in_specs": SPREAD, "out_specs": SPREAD}
    return compiled(jax.shard_map(many, mesh=mesh, check_vma=False, **sides), spread=True)
