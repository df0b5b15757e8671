r"""Laplace approximation: a Gaussian at the posterior mode, and the paper's draws from it.

The mode is sought from draws of the prior. The covariance is the inverse of the negative Hessian
in whitened coordinates, whose eigenvalues are floored so that a flat direction is no wider than a
few prior standard deviations. This is the literal method of the paper (Section 2.4): 300 draws
from ``N(mode, 1.5^2 H^-1)``, or as many as `Laplace` says, with self-normalised weights. With more
than a few parameters its weights are poor, which k-hat reports.

Modes are sought under several sets of labels of the same texts, as where folds are fitted afresh.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from cordial_ppl.data.labelled import Data
from cordial_ppl.inference.minimise import Ends, search
from cordial_ppl.inference.programs import draw_prior, unwhiten
from cordial_ppl.inference.target import Prior, Target
from cordial_ppl.inference.tiles import take_tile, tile_of
from cordial_ppl.runtime.arrays import pad_rows
from cordial_ppl.runtime.compilation import compiled

SEARCHES = 32
"""Searches for a mode that one call goes on with."""

STARTS, SEED = 12, 2
"""Points that the search for the highest mode begins at, and the seed of those that are drawn."""

REACH = 40.0
"""Prior standard deviations beyond which no mode is sought."""

CURVATURE_FLOOR = 0.05

STEP = 1e-5
"""Half the distance of gradients whose difference is a row of the Hessian."""

ROUNDS = 1000
"""Points of a search at most."""


class Laplace(NamedTuple):
    """How a Laplace approximation is drawn from; the defaults are the paper's.

    Attributes:
        draws: number of draws.
        inflation: factor on the standard deviations.
        df: degrees of freedom of a Student-t distribution in place of the Gaussian; None for this.
    """

    draws: int = 300
    inflation: float = 1.5
    df: float | None = None
    name = "laplace"


PAPER = Laplace()


class Mode(NamedTuple):
    """A mode of the posterior and the Gaussian there, in whitened coordinates.

    Attributes:
        mean: the mode, shape ``[P]``.
        factor: ``F`` with covariance ``F F^T``, shape ``[P, P]``.
        log_density: log density of the problem at the mode.
        gradient_norm: largest component of its gradient there.
    """

    mean: Float[np.ndarray, " P"]
    factor: Float[np.ndarray, "P P"]
    log_density: float
    gradient_norm: float


def find_modes(target: Target, prior: Prior, data: Sequence[Data]) -> list[Mode]:
    """Find the highest mode under each set of labels, and the floored curvature there.

    A posterior of few labels has several modes.  Searches begin at the prior's mean and at draws
    of the prior, which are the same whatever the labels are.

    Args:
        target: the channel.
        prior: location and scale of the unconstrained parameters.
        data: the same texts in double precision, with each set of labels and its histogram.
    """
    begin = np.insert(draw_prior(target, prior, data[0], STARTS - 1, SEED), 0, 0.0, axis=0)
    return choose_modes(partial(search_modes, target, prior, data), np.stack([begin] * len(data)))


def choose_modes(search: Callable[..., Ends], starts: Float[np.ndarray, "F S P"]) -> list[Mode]:
    """Choose the lowest ends of searches from several starts, with the floored curvature there.

    Args:
        search: searches from such points, in at most so many rounds, as `search_modes` does.
        starts: where the searches of each of F sets of labels begin, whitened.
    """
    (sets, each, size), step = starts.shape, STEP
    ends = search(starts).lowest(each)
    # Second derivatives by differences of gradients.
    around = step * np.concatenate([np.eye(size), -np.eye(size)])
    beside = search(ends.x[:, None] + around, 1).gradient
    above, below = beside.reshape(sets, 2, size, size).swapaxes(0, 1)
    hessian = (above - below) / (2.0 * step)
    curvatures, vectors = np.linalg.eigh(0.5 * (hessian + hessian.swapaxes(1, 2)))
    curvatures = np.maximum(curvatures, CURVATURE_FLOOR)
    factors = np.linalg.cholesky((vectors / curvatures[:, None, :]) @ vectors.swapaxes(1, 2))
    steepest = np.abs(ends.gradient).max(axis=1).tolist()
    return [*map(Mode, ends.x, factors, (-ends.value).tolist(), steepest)]


def search_modes(
    target: Target,
    prior: Prior,
    data: Sequence[Data],
    points: Float[np.ndarray, "F S P"],
    max_rounds: int = ROUNDS,
) -> Ends:
    """Search for modes from whitened points under each set of labels.

    Args:
        target: the channel.
        prior: location and scale of the unconstrained parameters.
        data: texts in double precision, with each set of labels and its histogram.
        points: where to begin; of more than `SEARCHES` under a set some do not know of the others.
        max_rounds: points of a search at most; one tells the derivatives where it begins.

    Returns:
        Where the F S searches for a minimum of the negative log density, nats, ended.
    """
    run, parts = _search_modes(target), []
    for seen, starts in zip(data, points, strict=True):
        for first in range(0, len(starts), SEARCHES):
            some = starts[first : first + SEARCHES]
            begin, going = pad_rows(some, SEARCHES, 0.0), np.arange(SEARCHES) < len(some)
            ends = run(prior, seen, begin, going, np.int32(max_rounds))
            parts.append([np.asarray(part)[: len(some)] for part in ends[:-1]])
    return Ends(*map(np.concatenate, zip(*parts, strict=True)), rounds=ends.rounds)


@lru_cache(maxsize=512)
def _search_modes(target: Target) -> Callable[..., Any]:
    def run(prior: Prior, data: Data, points: Array, going: Array, rounds: Array) -> Ends:
        return search(partial(descend, target, prior, data), points, going, rounds)

    return compiled(run, xla_backend_optimization_level=1)


def descend(target: Target, prior: Prior, data: Data, point: Array) -> tuple[Array, Array]:
    """Compute the negative log density of a whitened point, and its gradient; to be compiled."""

    def log_prior(w: Array) -> Array:
        readings = take_tile(data, jnp.zeros((), jnp.int32))[0]
        return target.log_scaled_prior(prior.loc + prior.scale * w, prior, readings)

    def add(tile: Array, total: tuple[Array, Array]) -> tuple[Array, Array]:
        readings, *labels = take_tile(data, tile)

        def log_likelihood(w: Array) -> Array:
            return target.log_likelihood(prior.loc + prior.scale * w, readings, *labels)

        return jax.tree.map(jnp.add, total, jax.value_and_grad(log_likelihood)(point))

    value, slope = jax.lax.fori_loop(0, data.tiles, add, jax.value_and_grad(log_prior)(point))
    return jnp.where(jnp.abs(point).max() <= REACH, -value, jnp.inf), -slope


def sample_laplace(
    target: Target,
    prior: Prior,
    data: Data,
    mode: Mode,
    rng: np.random.Generator,
    method: Laplace = PAPER,
) -> tuple[Float[np.ndarray, "S P"], Float[np.ndarray, " S"], Float[np.ndarray, "rows K"]]:
    """Draw from an inflated Laplace approximation and weigh the draws, as the paper does.

    Args:
        target: the channel.
        prior: location and scale of the unconstrained parameters.
        data: texts in double precision.
        mode: the Laplace approximation.
        rng: source of random numbers.
        method: how many draws, and how far they spread.

    Returns:
        Unconstrained parameters; unnormalised log weights in nats, zero at the mode; probabilities
        of the texts under the weighted draws, labels seen or not, with rows of padding after them.
    """
    points, log_proposal = draw_around(mode, rng, method)
    logs, probs = _weigh_points(target)(prior, data, points, -log_proposal, data.tiles)
    return prior.loc + prior.scale * points, np.asarray(logs), np.asarray(probs).T


def draw_around(
    mode: Mode, rng: np.random.Generator, method: Laplace = PAPER
) -> tuple[Float[np.ndarray, "S P"], Float[np.ndarray, " S"]]:
    """Draw whitened points from an inflated Laplace approximation, with their log density."""
    draws, inflation, df = method
    noise = rng.standard_normal((draws, len(mode.mean)))
    distances = 0.5 * (noise**2).sum(axis=1)
    if df is not None:
        shrinking = rng.chisquare(df, draws) / df
        noise /= np.sqrt(shrinking)[:, None]
        distances = 0.5 * (df + len(mode.mean)) * np.log1p(2 * distances / shrinking / df)
    return mode.mean + inflation * noise @ mode.factor.T, mode.log_density - distances


@lru_cache(maxsize=512)
def _weigh_points(target: Target) -> Callable[..., Any]:
    return compiled(partial(weigh_points, target), xla_backend_optimization_level=1)


def weigh_points(
    target: Target, prior: Prior, data: Data, points: Array, begin: Array, tiles: Array
) -> tuple[Float[Array, " S"], Float[Array, "K rows"]]:
    """Weigh whitened points, and predict with the weighted points; pure, to be compiled.

    Args:
        target: the channel.
        prior: location and scale of the unconstrained parameters.
        data: texts, whose tiles bear labels; without such tiles the weights are complete.
        points: whitened points.
        begin: log weights before prior and labels, nats.
        tiles: how many tiles are predicted, at least those that bear labels.

    Returns:
        Log weights, nats, and probabilities of the texts.
    """
    rows, flat = data.labels.shape[-1], unwhiten(prior, points)

    def add(step: Array, results: tuple[Array, Array]) -> tuple[Array, Array]:
        (total, probs), index = results, step % tiles
        readings, *labels = take_tile(data, index)
        scores, each = jax.vmap(lambda u: target.pointwise(u, readings, *labels))(flat)
        total += jnp.where(step < data.tiles, scores.sum(axis=1), 0.0).astype(total.dtype)
        # A draw without a density has no weight, and nothing it predicts counts.
        weights = jax.nn.softmax(jnp.where(jnp.isfinite(total), total, -jnp.inf))
        counted = jnp.where(weights[:, None, None] > 0, each, 0.0).astype(total.dtype)
        mixed = jnp.stack([weights @ counted[..., option] for option in range(target.options)])
        where = jnp.int32(0), index * tile_of(rows)
        return total, jax.lax.dynamic_update_slice(probs, mixed, where)

    readings = take_tile(data, jnp.zeros((), jnp.int32))[0]
    logs = jax.vmap(lambda u: target.log_scaled_prior(u, prior, readings))(flat)
    total = begin + jnp.where(data.tiles > 0, logs, 0.0).astype(begin.dtype)
    nothing = jnp.zeros((target.options, rows), points.dtype)
    # The weights are complete with the last tile of labels, the first of those that are predicted.
    steps = tiles + jnp.maximum(data.tiles - 1, 0)
    total, probs = jax.lax.fori_loop(0, steps, add, (total, nothing))
    return jnp.where(jnp.isfinite(total), total, -jnp.inf), probs
