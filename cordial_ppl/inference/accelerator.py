r"""Posteriors of many label subsets at once, in JAX alone, as an accelerator wants them.

A problem is a data set with all of its labels, or without one fold.  Programs take problems side by
side, as many as a bound on memory leaves room for, on each device of a one-dimensional mesh.  What
a problem comes to depends, up to rounding, neither on its neighbours nor on the number of devices.

* The paper's method, in double precision: searches for modes by ``optax.lbfgs`` from the starts of
  `cordial_ppl.inference.laplace`, where those that end make room for others every few points; then
  its draws and weights.
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
import optax
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Float

from cordial_ppl.data.labelled import TILE, Data, Labelled, pad_texts, texts_last
from cordial_ppl.inference import fitting, laplace, minimise, sampler
from cordial_ppl.inference.diagnostics import Draws
from cordial_ppl.inference.fitting import Case, CaseFit
from cordial_ppl.inference.moves import Gaussian, Particles, PCNState, init_pcn
from cordial_ppl.inference.programs import STEPS as STEPS_AT_ONCE
from cordial_ppl.inference.programs import (
    draw_prior,
    pcn_program,
    take_tile,
    tile_of,
    unwhiten,
    wide_tiles,
)
from cordial_ppl.inference.sampler import DEFAULT_EFFORT, PRECISION, Effort, Problem, State
from cordial_ppl.inference.target import Prior, Target
from cordial_ppl.runtime.compilation import compiled

COPIES, CASES = 12, 256
"""Arrays of probabilities that a program holds at a time; data sets that wait for a call."""

STEPS, HISTORY, FAR, TOLERANCE, STALE = 12, 10, 50, 1e-8, 4
"""Points of a search between two looks at all; steps that it remembers; by how many times what it
may gain its value may exceed another's; gradient, and steps without a change, that end it."""

AXIS = "problems"
AXES: Any = Data(0, 0, 0, 0, 0, None)  # type: ignore[arg-type]
"""Which arrays of texts have an axis of problems: not the number of tiles."""
SPREAD, WHOLE = PartitionSpec(AXIS), PartitionSpec()


class Room(NamedTuple):
    """What a call takes on each device.

    Attributes:
        memory: bytes, about.
        searches: the most searches for modes.
        weighed: the most problems whose draws are weighed.
        sampled: the most problems whose default posterior is sampled.
    """

    memory: int
    searches: int
    weighed: int
    sampled: int

    def lanes(self, points: int, target: Target, dtype: Any, rows: int, most: int) -> int:
        """Compute how many problems of so many points and rows there is room for, up to most."""
        each = COPIES * points * tile_of(rows) * target.options * np.dtype(dtype).itemsize
        return int(np.clip(self.memory // each, 1, most))


CORE, CHIP = Room(2**30, 128, 16, 16), Room(2**32, 2048, 256, 64)
"""Of a core of a CPU, which few problems keep busy, and of an accelerator."""


def room_of(mesh: Mesh) -> Room:
    """Return what there is room for on devices."""
    return CORE if mesh.devices.flat[0].platform == "cpu" else CHIP


class Problems(NamedTuple):
    """Priors and texts, each leaf with an axis of problems in front; seen labels come first."""

    prior: Prior
    data: Data

    def take(self, rows: Any) -> "Problems":
        """Return some of the problems."""
        return jax.tree.map(lambda leaf: leaf[rows], self)


class Search(NamedTuple):
    """Searches: the next point is along the direction, at a share of the full step."""

    point: Float[Any, "*L P"]
    value: Float[Any, "*L"]
    gradient: Float[Any, "*L P"]
    direction: Float[Any, "*L P"]
    share: Float[Any, "*L"]
    stale: Float[Any, "*L"]
    memory: Any
    going: Any


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
    precision, wide = jax.default_matmul_precision("highest"), room_of(mesh) is CHIP
    with jax.enable_x64(True), precision, wide_tiles(wide):
        for start in range(0, len(cases), CASES):
            some = cases[start : start + CASES]
            if method == "default":
                sampled = _fit_default(target, some, effort, mesh)
            else:
                sampled = _fit_literal(target, some, method, mesh)
            parts.append(_predict(target, some, report, mesh, *sampled))
    fits, probs = zip(*parts, strict=True)
    return sum(fits, []), np.concatenate(probs)


def _stack(
    target: Target, cases: Sequence[Case], texts: Sequence[Labelled], dtype: Any
) -> Problems:
    """Pad and stack the texts of problems; those that bear a label come first."""
    room, parts = TILE, []
    while room < len(texts[0].labels):
        room *= 4
    for case, part in zip(cases, texts, strict=True):
        padded, seen = pad_texts(part, room), np.sum(part.labels >= 0)
        data = Data(
            texts_last(padded.logits.astype(dtype)),
            padded.labels.astype(np.int32),
            padded.weights.astype(dtype),
            case._replace(texts=part).histogram_of(part.labels).astype(dtype),
            {name: column.astype(dtype) for name, column in padded.covariates.items()},
            np.int32(-(-seen // tile_of(room))),
        )
        prior = Prior(*(np.asarray(part, dtype) for part in fitting.choose_prior(target, case)))
        parts.append(Problems(prior, data))
    return jax.tree.map(lambda *leaves: np.stack(leaves), *parts)


def _with_folds(target: Target, cases: Sequence[Case], dtype: Any) -> Problems:
    """Stack the data sets, and then those without each fold, whose texts come last."""
    all_cases, texts = [*cases], [case.texts for case in cases]
    for case in cases:
        for labels in case.masks:
            order = np.argsort(labels < 0, kind="stable")
            texts.append(replace(case.texts, labels=labels).take(order))
            all_cases.append(case)
    return _stack(target, all_cases, texts, dtype)


def _call(
    run: Any, problems: Problems, arrays: Any, width: int, number: int, rows: Any, each: int = 1
) -> Any:
    """Run a program on rows of arrays, so many at a time, each row of one of the problems."""
    out, tree = [], None
    for start in range(0, len(rows), width):
        chunk = rows[np.minimum(np.arange(start, start + width), len(rows) - 1)]
        some = jax.tree.map(lambda leaf: leaf[chunk], arrays)  # noqa: B023
        results = run(*problems.take(chunk // each), some, np.int32(number))
        leaves, tree = jax.tree.flatten(results)
        out = out or [np.empty((len(rows), *leaf.shape[1:]), leaf.dtype) for leaf in leaves]
        for leaf, new in zip(out, leaves, strict=True):
            leaf[start : start + width] = np.asarray(new)[: len(rows) - start]
    return jax.tree.unflatten(tree, out)


def _compile(run: Callable[..., Any], mesh: Mesh, **options: Any) -> Callable[..., Any]:
    """Compile a program of problems, arrays and a number; each device has its share."""

    def local(prior: Prior, data: Data, arrays: Any, number: Array) -> Any:
        return run(prior, data._replace(tiles=data.tiles.max()), arrays, number)

    specs = (SPREAD, SPREAD, SPREAD, WHOLE)
    spread = jax.shard_map(local, mesh=mesh, in_specs=specs, out_specs=SPREAD, check_vma=False)
    return compiled(spread, spread=True, **options)


def _fit_literal(target: Target, cases: Sequence[Case], method: str, mesh: Mesh) -> tuple:
    """Fit by a method of the paper all labels and each fold afresh."""
    problems, folds = _with_folds(target, cases, np.float64), len(cases[0].masks)
    each = [1] * len(cases) + [0] * folds * len(cases)
    texts = [problems.take(row) for row in range(len(cases))]
    drawn = [draw_prior(target, *part, laplace.STARTS - 1, laplace.SEED) for part in texts]
    starts = np.insert(np.stack(drawn), 0, 0.0, axis=1)
    starts = np.concatenate([starts, starts.repeat(folds, axis=0)])
    modes = find_modes(target, problems, starts, mesh)
    fitting.check_modes(target, modes)
    noise = np.zeros((len(each), 1, target.size))
    if method == "laplace":
        rngs, shape = [np.random.default_rng(case.seed) for case in cases], noise.shape[2:]
        order = [*rngs, *(rng for rng in rngs for _ in range(folds))]
        noise = np.stack([rng.standard_normal((laplace.DRAWS, *shape)) for rng in order])
    factors = np.stack([mode.factor for mode in modes]).swapaxes(1, 2)
    points = np.stack([mode.mean for mode in modes])[:, None] + laplace.INFLATION * noise @ factors
    begin = 0.5 * (noise**2).sum(axis=2) - np.array([[mode.log_density] for mode in modes])

    def weigh(row: int, logs: np.ndarray) -> Draws:
        prior = fitting.choose_prior(target, cases[row])
        draws = prior.loc + prior.scale * points[row]
        logs = logs if method == "laplace" else np.zeros(1)
        return fitting.weigh_literal(method, modes[row], draws, logs, None, fold=False)

    return problems, points, begin, weigh


def find_modes(
    target: Target, problems: Problems, starts: Float[np.ndarray, "N S P"], mesh: Mesh
) -> list[laplace.Mode]:
    """Find the highest mode of each problem and its floored curvature, from whitened starts."""
    (count, each, size), step = starts.shape, laplace.STEP
    ends = search_modes(target, problems, starts, mesh)
    best = ends.value.reshape(count, each).argmin(axis=1) + each * np.arange(count)
    point, value, gradient = (part[best] for part in ends[:3])
    around = point[:, None] + step * np.concatenate([np.eye(size), -np.eye(size)])
    beside = search_modes(target, problems, around, mesh, 1).gradient
    return laplace.make_modes(point, value, gradient, beside)


def _optimiser() -> Any:
    return optax.lbfgs(memory_size=HISTORY, linesearch=None)


def search_modes(
    target: Target,
    problems: Problems,
    points: Float[np.ndarray, "N S P"],
    mesh: Mesh,
    rounds: int = laplace.ROUNDS,
) -> Search:
    """Search from whitened points until all are near their ends, and a problem's lowest at its."""
    (count, each, params), run = points.shape, _search(target, mesh)
    flat, line = points.reshape(-1, params), np.zeros(count * each)
    memory = jax.eval_shape(jax.vmap(_optimiser().init), flat)
    memory = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), memory)
    none = np.zeros_like(flat)
    s = Search(flat.copy(), line + np.inf, none, none.copy(), line + 1, line, memory, line == 0)
    space, size = room_of(mesh), problems.data.labels.shape[-1]
    room = space.lanes(1, target, np.float64, size, space.searches)
    for _ in range(0, rounds, STEPS):
        rows = np.flatnonzero(s.going)
        if not len(rows):
            break
        # The last few do not pay for a call of many.
        width = max(1, room // 8) if 8 * len(rows) <= room else room
        moved = _call(run, problems, s, width * mesh.size, min(rounds, STEPS), rows, each)
        for leaf, new in zip(*map(jax.tree.leaves, (s, moved)), strict=True):
            leaf[rows] = new
        lowest = s.value.reshape(count, each).min(axis=1).repeat(each)
        # What a search may still gain, if the function is like a parabola.
        gain = -0.5 * (s.direction * s.gradient).sum(axis=1)
        above = (gain <= minimise.NEAR) & (s.value > lowest)
        s.going[above | (s.value > lowest + FAR * gain)] = False
    return s


@lru_cache(maxsize=512)
def _search(target: Target, mesh: Mesh) -> Callable[..., Search]:
    """Compile points of searches."""
    optimiser, eps = _optimiser(), minimise.EPS

    def evaluate(prior: Prior, data: Data, point: Array) -> tuple[Array, Array]:
        def log_prior(w: Array) -> Array:
            readings = take_tile(data, jnp.zeros((), jnp.int32))[0]
            return target.log_scaled_prior(prior.loc + prior.scale * w, prior, readings)

        def add(tile: Array, total: tuple[Array, Array]) -> tuple[Array, Array]:
            def log_likelihood(w: Array) -> Array:
                return target.log_likelihood(prior.loc + prior.scale * w, *take_tile(data, tile))

            return jax.tree.map(jnp.add, total, jax.value_and_grad(log_likelihood)(point))

        begin = jax.value_and_grad(log_prior)(point)
        value, slope = jax.lax.fori_loop(0, data.tiles, add, begin)
        finite = jnp.isfinite(value) & jnp.isfinite(slope).all()
        finite &= jnp.abs(point).max() <= laplace.REACH
        return jnp.where(finite, -value, jnp.inf), jnp.where(finite, -slope, 0.0)

    def proceed(prior: Prior, data: Data, s: Search) -> Search:
        length = jnp.sqrt(jnp.vdot(s.direction, s.direction)) + eps**2
        step = s.share * jnp.minimum(1.0, minimise.MAX_LENGTH / length)
        point = s.point + step * s.direction
        value, gradient = evaluate(prior, data, point)
        gain = step * jnp.vdot(s.direction, s.gradient)
        # Differences of values may be rounding noise.
        noise = eps**0.8 * (1.0 + jnp.abs(s.value))
        taken = s.going & (value <= s.value + minimise.DOWN * gain + noise)
        # Where the function bends downwards, nothing is learned but that a step may be longer.
        move, last = point - s.point, s.memory[0]
        bent = jnp.vdot(move, gradient - s.gradient) > eps * jnp.vdot(move, move)
        params, updates = jnp.where(bent, last[1], point), jnp.where(bent, last[2], gradient)
        memory = last._replace(params=params, updates=updates), *s.memory[1:]
        with jax.numpy_dtype_promotion("standard"):
            direction, memory = optimiser.update(gradient, memory, point)
        direction = jnp.where(jnp.vdot(direction, gradient) < 0, direction, -gradient)
        same = value >= s.value - 4.0 * eps * (1.0 + jnp.abs(s.value))
        stale = jnp.where(same, s.stale + 1.0, 0.0)
        longer = jnp.where(bent | jnp.isinf(s.value), 1.0, minimise.LONGER * s.share)
        # After a step too far the next goes to the minimum of the parabola through what is known.
        shorter = s.share * jnp.clip(-0.5 * gain / (value - s.value - gain), 0.1, 0.5)
        new = Search(point, value, gradient, direction, longer, stale, memory, s.going)
        old = s._replace(share=jnp.where(s.going, shorter, s.share))
        new = jax.tree.map(partial(jnp.where, taken), new, old)
        lost = ~(new.share >= eps) | (new.stale >= STALE) | jnp.isinf(new.value)
        return new._replace(going=s.going & ~lost & (jnp.abs(new.gradient).max() > TOLERANCE))

    def run(prior: Prior, data: Data, begin: Search, rounds: Array) -> Search:
        go_on = jax.vmap(proceed, in_axes=(0, AXES, 0))
        s = begin, jnp.zeros((), jnp.int32)
        return jax.lax.while_loop(
            lambda s: s[0].going.any() & (s[1] < rounds),
            lambda s: (go_on(prior, data, s[0]), s[1] + 1),
            s,
        )[0]

    return _compile(run, mesh, xla_backend_optimization_level=1)


def _predict(
    target: Target,
    cases: Sequence[Case],
    report: Labelled,
    mesh: Mesh,
    problems: Problems,
    points: Float[np.ndarray, "N S P"],
    begin: Float[np.ndarray, "N S"],
    collect: Callable[[int, np.ndarray], Draws],
) -> tuple[list[CaseFit], Float[np.ndarray, "C m K"]]:
    """Predict the report by points of all labels and held-out texts by the others, and collect."""
    count, labels, room = len(cases), len(cases[0].texts.labels), room_of(mesh)

    def weigh(part: Problems, rows: np.ndarray, texts: int) -> tuple[np.ndarray, np.ndarray]:
        size, run = part.data.labels.shape[1], _weigh(target, mesh)
        width = room.lanes(points.shape[1], target, points.dtype, size, room.weighed) * mesh.size
        tiles = -(-texts // tile_of(size))
        logs, probs = _call(run, part, (points, begin), width, tiles, rows)
        return logs, probs.swapaxes(1, 2)[:, :texts].astype(np.float64)

    both = []
    for case in cases:
        pair = [(t.logits, t.labels, {**t.covariates}, t.weights) for t in (case.texts, report)]
        both.append(Labelled(*jax.tree.map(lambda *leaves: np.concatenate(leaves), *pair)))
    with_report = _stack(target, cases, both, points.dtype)
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
    """Compile weights of points, where tiles bear labels, and predictions of the later texts."""

    def one(prior: Prior, data: Data, points: Array, begin: Array, tiles: Array) -> Any:
        rows, flat = data.labels.shape[-1], unwhiten(prior, points)

        def add(index: Array, results: tuple[Array, Array]) -> tuple[Array, Array]:
            total, probs = results
            readings, *labels = take_tile(data, index)

            def score() -> tuple[Array, Array]:
                scores, probs = jax.vmap(lambda u: target.pointwise(u, readings, *labels))(flat)
                return total + scores.sum(axis=1).astype(total.dtype), probs

            def pass_by() -> tuple[Array, Array]:
                return total, jax.vmap(lambda u: target.probs(u, readings))(flat)

            total, each = jax.lax.cond(index < data.tiles, score, pass_by)
            # A draw without a density has no weight, and nothing it predicts counts.
            weights = jax.nn.softmax(jnp.where(jnp.isfinite(total), total, -jnp.inf))
            counted = jnp.where(weights[:, None, None] > 0, each, 0.0).astype(total.dtype)
            mixed = jnp.stack([weights @ counted[..., z] for z in range(target.options)])
            start = jnp.zeros((), jnp.int32), index * tile_of(rows)
            return total, jax.lax.dynamic_update_slice(probs, mixed, start)

        readings = take_tile(data, jnp.zeros((), jnp.int32))[0]
        logs = jax.vmap(lambda u: target.log_scaled_prior(u, prior, readings))(flat)
        total = begin + jnp.where(data.tiles > 0, logs, 0.0).astype(begin.dtype)
        nothing = jnp.zeros((target.options, rows), points.dtype)
        total, probs = jax.lax.fori_loop(0, tiles, add, (total, nothing))
        return jnp.where(jnp.isfinite(total), total, -jnp.inf), probs

    def run(prior: Prior, data: Data, arrays: tuple[Array, Array], tiles: Array) -> Any:
        return jax.vmap(one, in_axes=(0, AXES, 0, 0, None))(prior, data, *arrays, tiles)

    return _compile(run, mesh)


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
        return _stage(partial(stage, **settings) if settings else stage, self.mesh)(*args)

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


STAGES: dict[Any, Callable[..., Any]] = {}


def _stage(stage: Any, mesh: Mesh) -> Callable[..., Any]:
    """Compile a stage of one problem for many side by side."""
    inner, keywords = (stage.func, stage.keywords) if isinstance(stage, partial) else (stage, {})
    key = inner, mesh, tuple(keywords.items())
    if key not in STAGES:

        def many(*args: Any) -> Any:
            return jax.vmap(partial(inner, **keywords))(*args)

        STAGES[key] = compiled(
            jax.shard_map(many, mesh=mesh, in_specs=SPREAD, out_specs=SPREAD, check_vma=False),
            spread=True,
        )
    return STAGES[key]


def _fit_default(target: Target, cases: Sequence[Case], effort: Effort, mesh: Mesh) -> tuple:
    """Sample the default posterior of each data set, and carry its particles to the folds."""
    problems, folds = _with_folds(target, cases, PRECISION), len(cases[0].masks)
    count = len(cases)
    room, rows = room_of(mesh), problems.data.labels.shape[-1]
    width = room.lanes(effort.particles, target, PRECISION, rows, room.sampled) * mesh.size
    seeds = [case.seed for case in cases]
    seeds += [(*case.seed, 1 + fold) for case in cases for fold in range(folds)]

    def side_by_side(rows: np.ndarray, work: Callable[[Lanes, Any, np.ndarray], State]) -> State:
        parts = []
        for start in range(0, len(rows), width):
            chunk = rows[np.minimum(np.arange(start, start + width), len(rows) - 1)]
            some = Lanes(target, *problems.take(chunk), mesh)
            state = work(some, [sampler.generator(seeds[row]) for row in chunk], chunk)
            used = len(rows) - start
            parts.append(jax.tree.map(lambda leaf: np.asarray(leaf)[:used], state))  # noqa: B023
        return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)

    def carry(folds_: Lanes, keys: Any, rows: np.ndarray) -> State:
        parents = jax.tree.map(lambda leaf: leaf[(rows - count) // folds], state)
        logs = folds_.evaluate(jnp.asarray(parents.particles.points), effort.particles)
        weighed = folds_.do(sampler.reweigh, parents, *logs)
        if not (poor := sampler.is_poor(weighed)).any():
            return weighed
        return folds_.choose(poor, sampler.refresh(folds_, effort, keys, weighed), weighed)

    states = state = side_by_side(
        np.arange(count), lambda some, keys, _: sampler.sample(some, keys, effort)
    )
    if folds:
        moved = side_by_side(np.arange(count, count * (1 + folds)), carry)
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
    return problems, states.particles.points, states.log_weights, collect
