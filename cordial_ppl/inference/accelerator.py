r"""Posteriors of many label subsets at once, in JAX alone, as an accelerator wants them.

A problem is a data set with all of its labels, or without one fold.  Programs take problems side by
side, as many as a bound on memory leaves room for, on each device of a one-dimensional mesh.  What
a problem comes to depends, up to rounding, neither on its neighbours nor on the number of devices.

* The paper's method, in double precision: the searches, draws and weights of
  `cordial_ppl.inference.laplace`.
* The default posterior, in single precision: the stages of `cordial_ppl.inference.sampler`, each
  compiled for many problems side by side.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Float, Int, Integer

from cordial_ppl.data.labelled import TILE, Data, Labelled, pad
from cordial_ppl.inference import fitting, laplace, sampler
from cordial_ppl.inference.diagnostics import Draws
from cordial_ppl.inference.fitting import Case, CaseFit
from cordial_ppl.inference.minimise import Ends, search
from cordial_ppl.inference.moves import Gaussian, Particles, PCNState, init_pcn
from cordial_ppl.inference.programs import STEPS as STEPS_AT_ONCE
from cordial_ppl.inference.programs import (
    draw_from_model,
    draw_prior,
    pcn_program,
    tile_of,
    wide_tiles,
)
from cordial_ppl.inference.sampler import DEFAULT_EFFORT, PRECISION, Effort, Problem, State
from cordial_ppl.inference.target import Prior, Target
from cordial_ppl.runtime.compilation import compiled

COPIES, CASES = 12, 256
"""Arrays of probabilities that a program holds at a time, at most (XLA's own figures for a CPU are
2 to 3); data sets that wait for a call."""

AXIS = "problems"
AXES: Any = Data(0, 0, 0, 0, 0, None)  # type: ignore[arg-type]
"""Which arrays of texts have an axis of problems: not the number of tiles."""
SPREAD, WHOLE = PartitionSpec(AXIS), PartitionSpec()

CORE, BUSY, CHIP = 2**30, 16, 2**32
"""Bytes, about, that a call takes of a core of a CPU, and problems, which keep it busy; and bytes
of an accelerator that does not say how much memory it has."""


def memory(mesh: Mesh) -> int:
    """Return the bytes that a call may take of a device: half of an accelerator's."""
    if not is_wide(mesh):
        return CORE
    stats = mesh.devices.flat[0].memory_stats() or {}
    return stats.get("bytes_limit", CHIP) // 2


def lanes(mesh: Mesh, problems: int, points: int, target: Target, dtype: Any, rows: int) -> int:
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
            some = cases[start : start + CASES]
            if method == "default":
                sampled = _fit_default(target, some, effort, mesh)
            else:
                sampled = _fit_literal(target, some, method, mesh)
            parts.append(_predict(target, some, report, mesh, sampled))
    fits, probs = zip(*parts, strict=True)
    return sum(fits, []), np.concatenate(probs)


def _stack(
    target: Target, cases: Sequence[Case], texts: Sequence[Labelled], dtype: Any, mesh: Mesh
) -> Problems:
    """Pad and stack the texts of problems; those that bear a label come first."""
    room, parts = TILE, []
    while room < len(texts[0].labels):
        room *= 4
    for case, part in zip(cases, texts, strict=True):
        histogram = case._replace(texts=part).histogram_of(part.labels)
        tiles = np.int32(-(-np.sum(part.labels >= 0) // tile_on(mesh, room)))
        data = pad(part, histogram, dtype, room)._replace(tiles=tiles)
        prior = Prior(*(np.asarray(part, dtype) for part in fitting.choose_prior(target, case)))
        parts.append(Problems(prior, data))
    return jax.tree.map(lambda *leaves: np.stack(leaves), *parts)


def _with_folds(target: Target, cases: Sequence[Case], dtype: Any, mesh: Mesh) -> Problems:
    """Stack the data sets, and then those without each fold, whose texts come last."""
    all_cases, texts = [*cases], [case.texts for case in cases]
    for case in cases:
        for labels in case.masks:
            order = np.argsort(labels < 0, kind="stable")
            texts.append(replace(case.texts, labels=labels).take(order))
            all_cases.append(case)
    return _stack(target, all_cases, texts, dtype, mesh)


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


def _compile(run: Callable[..., Any], mesh: Mesh, **options: Any) -> Callable[..., Any]:
    """Compile a program of problems, arrays and a number; each device has its share."""

    def local(prior: Prior, data: Data, arrays: Any, number: Array) -> Any:
        # What is traced keeps its tiles: programs of the host, traced elsewhere, have their own.
        with wide_tiles(is_wide(mesh)):
            return run(prior, data._replace(tiles=data.tiles.max()), arrays, number)

    specs = (SPREAD, SPREAD, SPREAD, WHOLE)
    spread = jax.shard_map(local, mesh=mesh, in_specs=specs, out_specs=SPREAD, check_vma=False)
    return compiled(spread, spread=True, **options)


def _fit_literal(target: Target, cases: Sequence[Case], method: str, mesh: Mesh) -> Sampled:
    """Fit by a method of the paper all labels and each fold afresh."""
    problems, folds = _with_folds(target, cases, np.float64, mesh), len(cases[0].masks)

    def draw(rows: np.ndarray) -> Any:
        seeds = np.full(len(rows), laplace.SEED, np.uint32)
        return draw_priors(target, problems.take(rows), mesh, laplace.STARTS - 1, seeds)

    count = len(cases)
    drawn = _side_by_side(np.arange(count), -(-count // mesh.size), mesh, draw)
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
        return fitting.weigh_literal(method, modes[row], draws, logs, None, fold=False)

    return Sampled(problems, points, -log_proposal, weigh)


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


def search_modes(
    target: Target,
    problems: Problems,
    mesh: Mesh,
    points: Float[np.ndarray, "N S P"],
    rounds: int = laplace.ROUNDS,
) -> Ends:
    """Search from whitened points of each problem, as `laplace.search_modes` does on the host."""
    rows = problems.data.labels.shape[-1]
    room = lanes(mesh, len(points), points.shape[1], target, np.float64, rows)
    run, number = _search(target, mesh), np.int32(rounds)

    def work(rows: np.ndarray) -> Ends:
        return run(*problems.take(rows), points[rows], number)

    *parts, taken = _side_by_side(np.arange(len(points)), room, mesh, work)
    return Ends(*(part.reshape(-1, *part.shape[2:]) for part in parts), rounds=taken.max())


@lru_cache(maxsize=512)
def _search(target: Target, mesh: Mesh) -> Callable[..., Ends]:
    """Compile the searches of problems, all of each problem side by side."""

    def run(prior: Prior, data: Data, points: Array, rounds: Array) -> Ends:
        def one(prior: Prior, data: Data, points: Array) -> Ends:
            loss, going = partial(laplace.descend, target, prior, data), jnp.ones(len(points), bool)
            return search(loss, points, going, rounds, together=True)

        return jax.vmap(one, in_axes=(0, AXES, 0))(prior, data, points)

    return _compile(run, mesh, xla_backend_optimization_level=1)


def _predict(
    target: Target,
    cases: Sequence[Case],
    report: Labelled,
    mesh: Mesh,
    sampled: Sampled,
) -> tuple[list[CaseFit], Float[np.ndarray, "C m K"]]:
    """Predict the report by points of all labels and held-out texts by the others, and collect."""
    problems, points, begin, collect = sampled
    count, labels, run = len(cases), len(cases[0].texts.labels), _weigh(target, mesh)

    def weigh(part: Problems, rows: np.ndarray, texts: int) -> tuple[np.ndarray, np.ndarray]:
        size = part.data.labels.shape[1]
        room = lanes(mesh, len(rows), points.shape[1], target, points.dtype, size)
        tiles = tile_on(mesh, size)

        def work(rows: np.ndarray) -> Any:
            arrays = points[rows], begin[rows]
            return run(*part.take(rows), arrays, np.int32(-(-texts // tiles)))

        logs, probs = _side_by_side(rows, room, mesh, work)
        return logs, probs.swapaxes(1, 2)[:, :texts].astype(np.float64)

    both = []
    for case in cases:
        pair = [(t.logits, t.labels, {**t.covariates}, t.weights) for t in (case.texts, report)]
        both.append(Labelled(*jax.tree.map(lambda *leaves: np.concatenate(leaves), *pair)))
    with_report = _stack(target, cases, both, points.dtype, mesh)
    with_report.data.tiles[problems.data.tiles[:count] == 0] = 0
    logs, probs = weigh(with_report, np.arange(count), labels + len(report.labels))
    folds = np.arange(count, len(points)).reshape(count, -1)
    held_out = weigh(problems, folds.ravel(), labels)[1] if folds.size else probs[:0]
    fits = []
    for row, case in enumerate(cases):
        out = np.empty((labels, target.options))
        for fold, number in enumerate(folds[row] - count):
            rows = np.flatnonzero(case.folds == fold)
            out[rows] = held_out[number, labels - len(rows) :]
        posterior = fitting.make_posterior(target, case, collect(row, logs[row]))
        seen = None if case.folds is None else out / out.sum(axis=1, keepdims=True)
        fits.append(CaseFit(posterior, seen))
    return fits, probs[:, labels:] / probs[:, labels:].sum(axis=2, keepdims=True)


@lru_cache(maxsize=512)
def _weigh(target: Target, mesh: Mesh) -> Callable[..., Any]:
    """Compile weights of points, where tiles bear labels, and predictions of all texts."""

    def run(prior: Prior, data: Data, arrays: tuple[Array, Array], tiles: Array) -> Any:
        def one(prior: Prior, data: Data, points: Array, begin: Array) -> Any:
            return laplace.weigh_points(target, prior, data, points, begin, tiles)

        return jax.vmap(one, in_axes=(0, AXES, 0, 0))(prior, data, *arrays)

    return _compile(run, mesh)


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
        begin = self.do(init_pcn, state.particles, around, step)
        for first in range(0, normal.shape[1], STEPS_AT_ONCE):
            some = normal[:, first : first + STEPS_AT_ONCE]
            part = uniform[:, first : first + STEPS_AT_ONCE]
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
            np.repeat(part[:, None], STEPS_AT_ONCE, axis=1)
            for part in (self.data.labels, self.data.histogram)
        )
        data = self.data._replace(labels=labels, histogram=shares)
        room = [(0, 0), (0, STEPS_AT_ONCE - steps)]
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


def _fit_default(target: Target, cases: Sequence[Case], effort: Effort, mesh: Mesh) -> Sampled:
    """Sample the default posterior of each data set, and carry its particles to the folds."""
    problems, folds = _with_folds(target, cases, PRECISION, mesh), len(cases[0].masks)
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
        weighed = folds_.do(sampler.reweigh, parents, *logs)
        if not (poor := sampler.is_poor(weighed)).any():
            return weighed
        return folds_.choose(poor, sampler.refresh(folds_, effort, keys, weighed), weighed)

    # The folds of as many at a time: a program of their own would take as long to compile.
    room = lanes(mesh, count, effort.particles, target, PRECISION, rows)
    states = state = _side_by_side(np.arange(count), room, mesh, sample)
    if folds:
        moved = _side_by_side(np.arange(count, count * (1 + folds)), room, mesh, carry)
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
