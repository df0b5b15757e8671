"""Affine and full channels by maximum likelihood, for many draws of labels of the same readings.

A draw is a table of how often each reading got each label, so that one compiled program serves any
number of labels.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from cordial_ppl.arrays import FLOOR, AnyArray, Probabilities
from cordial_ppl.calibrators.full import STRENGTHS, shrink_channel_to_counts
from cordial_ppl.inference.newton import minimise_pool
from cordial_ppl.synthetic.gap import FAR, STARTS

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
        # A hundredth of a nat of all labels together; the loss is their mean.
        tolerance=0.01 / jnp.maximum(jnp.max(jnp.sum(counts, axis=(1, 2))), 1.0),
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
