r"""When a full channel overtakes the affine one, on labels whose true probabilities are known.

The labels come from `synthetic.known_gap`: the best affine channel loses delta to the truth, the
best full one nothing. By maximum likelihood from n labels each loses about `d / (2 n)` besides, d
its number of parameters, whence the crossover `n* = (d_u - d_s) / (2 delta)`.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from cordial_ppl import scores
from cordial_ppl.analyses import label_equivalents
from cordial_ppl.arrays import FLOOR, AnyArray, Probabilities
from cordial_ppl.calibrators.crossvalidation import FOLDS
from cordial_ppl.calibrators.full import STRENGTHS, shrink_channel_to_counts
from cordial_ppl.compilation import compiled, workers
from cordial_ppl.errors import InputError
from cordial_ppl.inference.newton import minimise_pool
from cordial_ppl.synthetic import KnownGap
from cordial_ppl.synthetic.gap import FAR, STARTS

PARAMETERS = 4
"""Offset, log gain, log concentration and log odds of strength: the affine channel's."""

UNSHRUNK = 1e-6
"""Pseudo-counts a row that change no estimate but keep every probability positive."""

WIDTH = 16
"""Searches for an affine channel that are followed at a time."""


class Channels(NamedTuple):
    """Channels [K, K] fitted to the same S draws of labels, a row an option stated.

    Args:
        affine: Four parameters, by maximum likelihood.
        full: K (K - 1) probabilities, by maximum likelihood.
        shrunk: The same, drawn to the affine fit as strongly as cross-validation asks for.
    """

    affine: Float[Array, "S K K"]
    full: Float[Array, "S K K"]
    shrunk: Float[Array, "S K K"]


@dataclass(frozen=True)
class ExcessLosses:
    """What the three fits lose by estimation, for rising numbers of labels.

    Args:
        delta: What the nearest affine channel loses to the truth (nats).
        options: Number of options K.
        budgets: Numbers of labels n.
        affine: Expected log loss [budgets, S] of each fit over the nearest affine channel's (nats).
        full: That of the unshrunk full channels over the truth's (nats).
        shrunk: That of the shrunk full channels over the truth's (nats).
    """

    delta: float
    options: int
    budgets: tuple[int, ...]
    affine: Float[np.ndarray, "budgets S"]
    full: Float[np.ndarray, "budgets S"]
    shrunk: Float[np.ndarray, "budgets S"]

    @property
    def crossover(self) -> float:
        """Labels `n* = (K (K - 1) - 4) / (2 delta)` from which a full channel should lead."""
        return scores.crossover(self.options * (self.options - 1), PARAMETERS, self.delta)

    def dimensions(self, fit: str) -> Float[np.ndarray, " budgets"]:
        """Return the effective number of parameters, `d = 2 n mean(excess)`, at each budget.

        Args:
            fit: "affine", "full" or "shrunk".
        """
        return 2 * np.array(self.budgets) * getattr(self, fit).mean(axis=1)

    def overtaking(self, fit: str) -> float:
        """Return the labels from which on a full channel loses no more than the affine one.

        After the last budget at which it loses more: there `label_equivalents` of the log ratio of
        the mean losses, which is nearly straight in `log n`.

        Args:
            fit: "full" or "shrunk".

        Returns:
            A number of labels; the least budget where it leads throughout, infinite where it
            trails at the largest.
        """
        ratio = getattr(self, fit).mean(axis=1) / (self.delta + self.affine.mean(axis=1))
        last = max(np.flatnonzero(ratio > 1), default=0)
        return label_equivalents(self.budgets[last:], np.log(ratio[last:]), 0.0)


def excess_losses(gap: KnownGap, budgets: Sequence[int], draws: int, seed: int = 0) -> ExcessLosses:
    """Fit the three channels to S draws of n labels each, and return what they lose by it.

    A draw takes readings of the population with replacement, and a label of each from the truth;
    fewer labels are the first of more. The losses are expectations over the population, with
    probabilities floored at 0.0001.

    Args:
        gap: The population, from `known_gap`.
        budgets: Numbers of labels n, rising.
        draws: Number S of draws.
        seed: Seed of NumPy's generator.

    Returns:
        The excess log losses (nats) of each fit.

    Raises:
        InputError: there is no draw, no budget, or a budget without labels.
    """
    if draws < 1 or not len(budgets) or min(budgets) < 1:
        raise InputError(
            f"draws and budgets must be positive; got draws={draws} and budgets={list(budgets)}."
        )
    rng = np.random.default_rng(seed)
    texts, size = gap.truth.shape
    rows = rng.integers(0, texts, (draws, max(budgets)))
    labels = gap.draw(rng, rows.ravel()).reshape(rows.shape)
    reading = np.exp(gap.logits - gap.logits.max(axis=1, keepdims=True))
    reading /= reading.sum(axis=1, keepdims=True)

    def measure(n: int) -> list[list[float]]:
        folds = np.zeros((draws, FOLDS, texts, size))
        draw, place = np.ogrid[:draws, :n]
        np.add.at(folds, (draw, place % FOLDS, rows[:, :n], labels[:, :n]), 1.0)
        with jax.enable_x64(True):
            fits = _program()(reading, folds)
        return [
            [gap.excess(np.maximum(reading @ channel, FLOOR)) for channel in np.asarray(channels)]
            for channels in fits
        ]

    with ThreadPoolExecutor(workers(len(budgets))) as threads:
        found = np.array(list(threads.map(measure, budgets)))
    affine, full, shrunk = found.swapaxes(0, 1)
    return ExcessLosses(gap.delta, size, tuple(budgets), affine - gap.delta, full, shrunk)


def fit_channels(reading: Probabilities, folds: Float[AnyArray, "S folds n K"]) -> Channels:
    """Fit the affine channel and the full one, the latter with and without shrinkage.

    The strength of the shrinkage has the least log loss on folds that a fit has not seen, with
    probabilities floored at 0.0001, ties to the stronger; every fold has its own affine fit.

    Args:
        reading: Probabilities q, shape [n, K].
        folds: How often each reading got each label, in each fold of each draw.

    Returns:
        The three channels of each draw.
    """
    reading, folds = jnp.asarray(reading), jnp.asarray(folds)
    draws, parts, _, size = folds.shape
    whole = jnp.sum(folds, axis=1)
    rest = whole[:, None] - folds
    starts = jnp.asarray(STARTS, reading.dtype)
    phi = fit_affine(reading, whole, jnp.tile(starts[None], (draws, 1, 1)))
    # Three quarters of the labels: the search begins where that of all has ended.
    near = jnp.repeat(phi, parts, axis=0)[:, None]
    fold_phi = fit_affine(reading, rest.reshape(-1, *whole.shape[1:]), near)
    # From the strongest down, the first of several strengths that are as good is taken.
    strengths = jnp.asarray(STRENGTHS[::-1], reading.dtype)

    def centre(phi: Array) -> Array:
        return affine_matrix(phi, size)

    def shrink(own: tuple[Array, Array, Array, Array, Array]) -> Channels:
        whole, rest, folds, phi, fold_phi = own
        along = jax.vmap(shrink_channel_to_counts, (None, None, None, 0))
        split = jax.vmap(along, (None, 0, 0, None))
        fitted = split(reading, rest, jax.vmap(centre)(fold_phi), strengths)
        own_logs = jnp.log(jnp.maximum(reading[None, None] @ fitted, FLOOR))
        losses = -jnp.sum(folds[:, None] * own_logs, axis=(0, 2, 3))
        chosen = jnp.stack([jnp.asarray(UNSHRUNK, losses.dtype), strengths[jnp.argmin(losses)]])
        return Channels(centre(phi), *along(reading, whole, centre(phi), chosen))

    return jax.lax.map(shrink, (whole, rest, folds, phi, fold_phi.reshape(draws, parts, -1)))


def fit_affine(
    reading: Probabilities, counts: Float[AnyArray, "fits n K"], starts: Float[AnyArray, "fits T 4"]
) -> Float[Array, "fits 4"]:
    """Fit the four-parameter channel by maximum likelihood, to many draws of labels at once.

    Args:
        reading: Probabilities q, shape [n, K].
        counts: How often each reading got each label, for each fit.
        starts: Where the searches begin, several for each fit, of which the best end is kept.

    Returns:
        Offset, log gain, log concentration and log odds of strength, hardly beyond 6 in size.
    """
    reading, counts, starts = jnp.asarray(reading), jnp.asarray(counts), jnp.asarray(starts)
    fits, each = starts.shape[:2]

    def loss(phi: Array, counts: Array) -> Array:
        logs = jnp.log(reading @ affine_matrix(phi, reading.shape[1]))
        # Few labels may ask for an infinite parameter; as far as FAR it is free.
        beyond = jnp.maximum(jnp.abs(phi) - FAR, 0.0)
        return jnp.sum(beyond**2) - jnp.sum(counts * logs) / jnp.maximum(jnp.sum(counts), 1.0)

    found = minimise_pool(
        loss,
        starts.reshape(-1, starts.shape[2]),
        jnp.repeat(counts, each, axis=0),
        WIDTH,
        group=each,
    )
    best = jnp.argmin(found.value.reshape(fits, each), axis=1)
    return jnp.take_along_axis(found.x.reshape(starts.shape), best[:, None, None], axis=1)[:, 0]


def affine_matrix(phi: Float[Array, " 4"], size: int) -> Float[Array, "K K"]:
    """Return `synthetic.affine_channel` for JAX, `rho G(z | s y + d) + (1 - rho) / K`.

    Args:
        phi: Offset d, log gain s, log concentration kappa, log odds of strength rho.
        size: Number of options, K.

    Returns:
        The channel, row y for option y stated.
    """
    options = jnp.arange(size, dtype=phi.dtype)
    far = options[None, :] - jnp.exp(phi[1]) * options[:, None] - phi[0]
    profiles = jax.nn.softmax(-jnp.exp(phi[2]) * far**2, axis=1)
    return jax.nn.sigmoid(phi[3]) * profiles + jax.nn.sigmoid(-phi[3]) / size


@cache
def _program() -> Any:
    return compiled(fit_channels)
