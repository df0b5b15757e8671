"""A batch of problems, and how a stage of the sampler is run for those that need it.

On a CPU a stage runs as it is written, on NumPy arrays, one problem after the other: XLA compiles
the channel's density and nothing else.  On an accelerator the same stage is compiled and runs for
all problems side by side, spread over the devices that there are.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Bool, Float

from cordial_ppl.arrays import namespace
from cordial_ppl.compilation import compiled
from cordial_ppl.inference.data import Data, on_cpu
from cordial_ppl.inference.moves import Gaussian, Walk, move
from cordial_ppl.inference.programs import density, log_densities, walk
from cordial_ppl.inference.target import Prior, Target

PRECISION = np.float32
"""Log densities are needed to far less than their Monte Carlo error: half the digits suffice."""

Source = np.random.Generator | jax.Array
"""Where random numbers come from: on a CPU NumPy's generator, which moves on with each use; in a
compiled program a key, which does not."""


def split(source: Source, count: int) -> list[Any]:
    """Independent sources: of a generator itself, over and over; of a key, as many keys."""
    if isinstance(source, np.random.Generator):
        return [source] * count
    return [*jax.random.split(source, count)]


def normal_and_uniform(
    source: Source, normals: tuple[int, ...], uniforms: tuple[int, ...]
) -> tuple[Any, Any]:
    """Draw standard normal numbers, and uniform ones in (0, 1], in single precision.

    Args:
        source: a generator or one key.
        normals: shape of the normal numbers.
        uniforms: shape of the uniform numbers.
    """
    if isinstance(source, np.random.Generator):
        normal = source.standard_normal(normals, np.float32)
        return np.asarray(normal), np.asarray(1 - source.random(uniforms, np.float32))
    first, second = jax.random.split(source)
    uniform = 1 - jax.random.uniform(second, uniforms, jnp.float32)
    return jax.random.normal(first, normals, jnp.float32), uniform


class Problem(NamedTuple):
    """What is sampled: a channel with its prior and labelled texts, in the particles' precision."""

    target: Target
    prior: Prior
    data: Data

    def evaluate(self, points: Float[Any, "M P"], particles: int) -> tuple[Any, Any]:
        """Log prior and log likelihood of whitened points, as many at once as particles."""
        if isinstance(points, jax.Array):
            return log_densities(*self, points)
        return density(*self, points, particles)

    def move(
        self,
        begin: Walk,
        around: Gaussian,
        temper: Any,
        source: Source,
        moves: int,
    ) -> Walk:
        """Move particles so many times; see `cordial_ppl.inference.moves.move`."""
        count, size = begin.standard.shape
        numbers = normal_and_uniform(source, (moves, count, size + 1), (moves, count))
        if isinstance(begin.standard, np.ndarray):
            return walk(*self, begin, around, temper, *numbers)
        return move(lambda points: self.evaluate(points, count), begin, around, temper, *numbers)


class Batch:
    """Problems of one channel with equally many texts, in turn, on NumPy arrays.

    Args:
        problems: the problems.
        seeds: numbers that all randomness of each follows from.
    """

    def __init__(self, problems: Sequence[Problem], seeds: Sequence[tuple[int, ...]]):
        """Give each problem a generator, of a quick kind: numbers are a good part of the work."""
        self.problems = list(problems)
        self.sources = [np.random.Generator(np.random.SFC64(seed)) for seed in seeds]

    def run(
        self,
        stage: Callable[..., Any],
        effort: Any,
        states: Any = None,
        which: Bool[np.ndarray, " B"] | None = None,
        *more: Any,
    ) -> Any:
        """Run a stage for some of the problems.

        Args:
            stage: a function of problem, effort, source of randomness and state.
            effort: how much work to do.
            states: the states of all problems; none to begin with.
            which: for which problems it is run; by default all.
            more: what else the stage takes, for all problems.

        Returns:
            The states of all problems.
        """
        found = [None] * len(self.problems) if states is None else list(states)
        with np.errstate(all="ignore"):
            for b in range(len(found)) if which is None else np.flatnonzero(which):
                given = () if states is None else (states[b], *(each[b] for each in more))
                found[b] = stage(self.problems[b], effort, self.sources[b], *given)
        return found

    def evaluate(self, states: Any, particles: int) -> tuple[Any, ...]:
        """Log prior and log likelihood of the states' particles, for stages that take them.

        Problems of the same texts and particles, one after the other, are one with several sets of
        labels: a call takes longer to begin than to evaluate few labels.

        Returns:
            Both for each problem; nothing on an accelerator, where stages evaluate themselves.
        """
        found: list[Any] = []
        pairs = zip(self.problems, states, strict=True)
        alike = groupby(pairs, lambda pair: (id(pair[0].data.logits), id(pair[1].particles)))
        for _, group in alike:
            own, (state, *_) = zip(*group, strict=True)
            data = own[0].data._replace(
                labels=np.stack([each.data.labels for each in own]),
                histogram=np.stack([each.data.histogram for each in own]),
            )
            some = own[0]._replace(data=data)
            found += zip(*some.evaluate(state.particles.points, particles), strict=True)
        return tuple(zip(*found, strict=True))

    def figures(self, states: Any, name: str) -> np.ndarray:
        """A number of every state."""
        return np.array([getattr(state, name) for state in states])

    def apart(self, states: Any) -> list[Any]:
        """The states one by one, as NumPy arrays."""
        return states

    def together(self, states: Sequence[Any]) -> Any:
        """The states of a batch, of single ones."""
        return states


class DeviceBatch(Batch):
    """Problems side by side on an accelerator, on every device there is."""

    def __init__(self, problems: Sequence[Problem], seeds: Sequence[tuple[int, ...]]):
        """Stack priors and data, and fill up to a multiple of the devices."""
        devices = jax.devices()
        self.count, short = len(problems), -len(problems) % len(devices)
        filled = [*problems, *[problems[-1]] * short]
        words = np.stack([np.random.SeedSequence(seed).generate_state(2) for seed in seeds])
        keys = jnp.asarray(np.pad(words, ((0, short), (0, 0)), mode="edge"))
        axis = NamedSharding(Mesh(np.array(devices), ("problems",)), PartitionSpec("problems"))
        given = [(each.prior, each.data._replace(tiles=None)) for each in filled]
        stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *given)
        self.target, self.tiles = problems[0].target, problems[0].data.tiles
        self.prior, self.data = jax.device_put(stacked, axis)
        self.keys = jax.device_put(jax.random.wrap_key_data(keys, impl="threefry2x32"), axis)
        self.axis, self.stages = axis, 0

    def run(
        self,
        stage: Callable[..., Any],
        effort: Any,
        states: Any = None,
        which: Bool[np.ndarray, " B"] | None = None,
        *more: Any,
    ) -> Any:
        """Run a stage for all problems, and take its results where they are wanted."""
        data = self.data._replace(tiles=np.int32(self.tiles))
        self.stages += 1
        given = () if states is None else (states, *more)
        wanted = np.ones(len(self.keys), bool) if which is None else which
        stage_of = _program(stage, self.target, effort)
        return stage_of(np.int32(self.stages), wanted, self.prior, data, self.keys, *given)

    def evaluate(self, states: Any, particles: int) -> tuple[Any, ...]:
        """Leave it to the stage."""
        return ()

    def figures(self, states: Any, name: str) -> np.ndarray:
        """A number of every state."""
        return np.asarray(getattr(states, name))

    def apart(self, states: Any) -> list[Any]:
        """The states one by one, as NumPy arrays."""
        host = jax.device_get(states)
        return [jax.tree.map(lambda leaf, b=b: leaf[b], host) for b in range(self.count)]

    def together(self, states: Sequence[Any]) -> Any:
        """The states of a batch, of single ones."""
        filled = [*states, *[states[-1]] * (len(self.keys) - len(states))]
        return jax.device_put(jax.tree.map(lambda *leaves: np.stack(leaves), *filled), self.axis)


def make_batch(problems: Sequence[Problem], seeds: Sequence[tuple[int, ...]]) -> Batch:
    """A batch for the kind of device that there is."""
    return (Batch if on_cpu() else DeviceBatch)(problems, seeds)


def where(which: Any, new: Any, old: Any) -> Any:
    """One pytree of arrays, or another."""
    if isinstance(which, np.bool_):
        return new if which else old
    return jax.tree.map(lambda one, other: namespace(one).where(which, one, other), new, old)


@lru_cache(maxsize=512)
def _program(stage: Callable[..., Any], target: Target, effort: Any) -> Callable[..., Any]:
    def one(number: Any, wanted: Any, prior: Prior, data: Data, key: Any, *state: Any) -> Any:
        source = jax.random.fold_in(key, number)
        found = stage(Problem(target, prior, data), effort, source, *state)
        return where(wanted, found, state[0]) if state else found

    def run(number: Any, wanted: Any, prior: Prior, data: Data, keys: Any, *states: Any) -> Any:
        each = Data(0, 0, 0, 0, dict.fromkeys(data.covariates, 0), None)
        axes = (None, 0, 0, each, 0, *(0 for _ in states))
        return jax.vmap(one, axes)(number, wanted, prior, data, keys, *states)

    return compiled(run)
