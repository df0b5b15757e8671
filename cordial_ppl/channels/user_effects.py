r"""How users differ: by one value each, which moves the population's prediction.

At each value, an effect is a matrix that turns the population's probabilities of a text into the
user's, as a channel does.  At zero it is the identity.  `UserShift` is exact and fast; the channel
of users' shifts serves every method of inference.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.channels.channel import Channel, observe
from cordial_ppl.data.checks import check_number
from cordial_ppl.data.readings import Readings
from cordial_ppl.runtime.arrays import FLOOR

USER = "user"
"""Name of the covariate that says who gave a label."""


class Effect(NamedTuple):
    """One value per user, on a grid.

    Attributes:
        name: name in tables and messages.
        matrices: from values and the number of options K to the matrix at each value.
        grid: the values for K options, evenly spaced and symmetric around zero.
        unit: a large value for K options, the unit of the spread between users.
    """

    name: str
    matrices: Callable[[Any, int], Any]
    grid: Callable[[int], Float[np.ndarray, " G"]]
    unit: Callable[[int], float]

    def log_likelihoods(
        self, probs: Float[np.ndarray, "n K"], labels: Int[np.ndarray, " n"]
    ) -> Float[np.ndarray, "n G"]:
        """Log likelihood of each label (0..K-1) at every value, in nats."""
        by_option = _matrices_on_grid(self, probs.shape[1])
        mixed = np.empty((len(labels), by_option.shape[1]))
        for option in np.unique(labels):
            rows = labels == option
            mixed[rows] = probs[rows] @ by_option[option].T
        return np.log(np.maximum(mixed, FLOOR, out=mixed), out=mixed)

    def average(
        self, probs: Float[np.ndarray, "n K"], weights: Float[np.ndarray, "n G"]
    ) -> Float[np.ndarray, "n K"]:
        """Predictions averaged over the values, with a weight for each text and value."""
        by_option = _matrices_on_grid(self, probs.shape[1])
        # One option at a time: an average matrix for each text would fill the memory.
        mixed = np.stack([np.sum(weights @ rows * probs, axis=1) for rows in by_option], axis=1)
        return mixed / mixed.sum(axis=1, keepdims=True)


@lru_cache(maxsize=2)
def _matrices_on_grid(effect: Effect, size: int) -> Float[np.ndarray, "K G K"]:
    """Probability of each option (first axis) at every value, by the population's option."""
    return np.ascontiguousarray(effect.matrices(effect.grid(size), size).swapaxes(0, 1))


def shift_matrices(deltas: Float[Any, "*n"], size: int) -> Float[Any, "*n K K"]:
    r"""Matrices that move probability mass along the scale.

    .. math:: p_\Delta(z) = \sum_y p(y)\, \max(0, 1 - |z - c(y)|),
        \qquad c(y) = \min(\max(y + \Delta, 0), K - 1)

    Mass moves by Delta classes; a fraction is divided between two neighbours, and mass that would
    pass an end stays there.  This is the affine channel with gain and strength one and no spread.

    Args:
        deltas: shifts Delta in classes; a scalar under JAX's ``vmap``, any shape in NumPy.
        size: number of options K.

    Returns:
        Shares of the mass of option y (last axis) that go to option z (second to last axis).

    Source: Section 2.7 of the paper, Personalization.
    """
    xp = deltas.__array_namespace__()
    options = xp.arange(size, dtype=deltas.dtype)
    centres = xp.clip(options + deltas[..., None], 0, size - 1)
    return xp.maximum(1 - xp.abs(options[:, None] - centres[..., None, :]), 0)


def nearest_matrices(deltas: Float[Any, "*n"], size: int) -> Float[Any, "*n K K"]:
    """Make ``shift_matrices`` that move all mass to the nearest option, or halves to two."""
    options = np.arange(size)
    far = np.abs(options[:, None] - options - deltas[..., None, None]).round(9)
    nearest = far == far.min(axis=-2, keepdims=True)
    return nearest / nearest.sum(axis=-2, keepdims=True)


def _shift_grid(size: int) -> Float[np.ndarray, " G"]:
    """Steps of 0.05 classes; wider on scales of more than 21 options, for at most 801 shifts."""
    step = 0.05 * max(1.0, (size - 1) / 20)
    last = round((size - 1) / step)
    return step * np.arange(-last, last + 1)


def _shift_unit(size: int) -> float:
    """One class for five to eight options; else the largest power of two up to (K - 1) / 4.

    Users differ by a share of the scale; powers of two give all scales the same grid of spreads.
    """
    return 2.0 ** math.floor(math.log2((size - 1) / 4))


SHIFT = Effect("shift", shift_matrices, _shift_grid, _shift_unit)
"""A shift along the scale, in classes."""

SHIFTS = {"divided": SHIFT, "nearest": SHIFT._replace(matrices=nearest_matrices)}
"""Shifts by what becomes of fractions of a class."""


def user_channel(users: int, *, sigma: float | None = None) -> Channel:
    r"""Return a channel for labels from several users, on top of a population's predictions.

    .. math:: \sigma \sim \mathrm{HalfNormal}(\mathrm{unit}), \qquad \Delta_u \sim N(0, \sigma^2),
        \qquad z_i \sim M(\Delta_{u(i)})\, p_i, \qquad p_i = \mathrm{softmax}(\ell_i)

    M moves probability mass along the scale (:func:`shift_matrices`).  Readings are the
    logarithms of the population's probabilities, and the covariate ``user`` numbers the users:
    ``fit_nuts(user_channel(12), np.log(probs), labels, covariates={"user": numbers})``.

    Without ``sigma``, the channel's parameters are ``sigma`` and ``scaled``, the shifts in units of
    sigma, to avoid a funnel in the posterior. With ``sigma``, the only parameter is ``value``, with
    a fixed Gaussian prior.

    Args:
        users: number of users, plus one if you also want predictions for an unknown user.
        sigma: standard deviation of the shifts in classes, if it is known.

    Returns:
        The channel; equal arguments return the same object.

    Raises:
        InputError: ``users`` is below 1, or ``sigma`` is below 1e-9.

    Source: Section 2.7 of the paper, Personalization.
    """
    sigma = None if sigma is None else check_number("sigma", sigma, 1e-9)
    return _user_channel(int(check_number("users", users, 1, whole=True)), sigma)


@lru_cache(maxsize=64)
def _user_channel(users: int, sigma: float | None) -> Channel:
    def model(readings: Readings, labels: Int[Any, " n"] | None = None) -> None:
        import numpyro
        import numpyro.distributions as dist

        size, spread = len(readings.histogram), sigma
        if sigma is None:
            spread = numpyro.sample("sigma", dist.HalfNormal(SHIFT.unit(size)))
        with numpyro.plate(USER, users):
            if sigma is None:
                values = jnp.asarray(spread) * numpyro.sample("scaled", dist.Normal(0.0, 1.0))
            else:
                values = jnp.asarray(numpyro.sample("value", dist.Normal(0.0, sigma)))
        deltas = values[jnp.asarray(readings.covariates[USER]).astype(int)]
        matrices = jax.vmap(lambda delta: SHIFT.matrices(delta, size))(deltas)
        population = jax.nn.softmax(jnp.asarray(readings.logits), axis=1)
        floored = jnp.maximum(jnp.einsum("nzy,ny->nz", matrices, population), FLOOR)
        observe(None, labels, probs=floored / jnp.sum(floored, axis=1, keepdims=True))

    return Channel("user shift", model, levels=((USER, users),))
