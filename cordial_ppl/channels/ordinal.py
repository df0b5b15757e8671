"""The distribution of a label: over ordered options, with -1 for a label that counts nothing."""

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpyro import distributions as dist
from numpyro.distributions import constraints
from numpyro.util import not_jax_tracer

from cordial_ppl.errors import ChannelError, InputError


class Ordinal(dist.Distribution):
    r"""Distribution over K ordered options that is given by its probabilities or their logs.

    .. math:: \log p(z) = \sum_k [z = k] \log p_k

    A label of -1 has log probability 0: padded and unlabelled rows carry it and so leave the
    likelihood.  Any other label outside ``0..K-1`` is a mistake: refused where its value is known,
    and of probability zero inside a compiled program.

    Args:
        log_probs: log probabilities in nats, shape ``[..., K]``; they are not normalised again.
        probs: probabilities instead: an array of shape ``[..., K]``, or K arrays of shape ``[...]``
            where that is how they were computed.

    Raises:
        ChannelError: neither is given, or both.
    """

    # An option may have probability zero, whose logarithm NumPyro's own constraints refuse.
    arg_constraints = {}
    pytree_data_fields = ("_log_probs", "_rows")

    def __init__(
        self,
        log_probs: Float[Array, "... K"] | None = None,
        probs: Float[Array, "... K"] | Sequence[Float[Array, "..."]] | None = None,
        *,
        validate_args: bool | None = None,
    ):
        """Keep what is given; the other form is computed when it is asked for."""
        if (log_probs is None) == (probs is None):
            raise ChannelError("an ordinal distribution needs exactly one of log_probs and probs.")
        self._log_probs = log_probs
        values: Any = log_probs if probs is None else probs
        if not isinstance(values, Sequence):
            values = [values[..., option] for option in range(values.shape[-1])]
        self._rows = tuple(values)
        shape = jnp.broadcast_shapes(*(jnp.shape(row) for row in self._rows))
        super().__init__(batch_shape=shape, validate_args=validate_args)

    @property
    def log_probs(self) -> Float[Array, "... K"]:
        """Log probabilities in nats; the smallest positive number stands for a zero."""
        if self._log_probs is None:
            return jnp.log(self.probs + jnp.finfo(self.probs.dtype).tiny)
        return self._log_probs

    @property
    def probs(self) -> Float[Array, "... K"]:
        """Probabilities."""
        if self._log_probs is not None:
            return jnp.exp(self._log_probs)
        return jnp.stack(self._rows, axis=-1)

    @property
    def size(self) -> int:
        """Number of options K."""
        return len(self._rows)

    @property
    def support(self) -> constraints.Constraint:
        """The options 0..K-1."""
        return constraints.integer_interval(0, self.size - 1)

    def sample(self, key: jax.Array, sample_shape: tuple[int, ...] = ()) -> Int[Array, "..."]:
        """Draw options, shape ``sample_shape + batch_shape``."""
        return jax.random.categorical(key, self.log_probs, shape=sample_shape + self.batch_shape)

    def log_prob(self, value: Int[Any, "..."]) -> Float[Array, "..."]:
        """Log probability of the options in nats; 0 where the option is -1.

        Raises:
            InputError: an option is beyond -1..K-1.
        """
        if not_jax_tracer(value):
            labels = np.asarray(value)
            if (wrong := np.flatnonzero((labels < -1) | (labels >= self.size))).size:
                raise InputError(
                    f"labels must be options 0..{self.size - 1}, or -1 for a text without a "
                    f"label; got {labels.flat[wrong[0]]} in row {wrong[0]}."
                )
        inside = (value >= 0) & (value < self.size)
        # The one row that counts is selected before the logarithm is taken.
        chosen = [jnp.where(value == option, row, 0.0) for option, row in enumerate(self._rows)]
        selected = reduce(add, chosen)
        if self._log_probs is not None:
            return jnp.where(inside | (value == -1), selected, -jnp.inf)
        left_out = jnp.where(value == -1, 1.0, 0.0).astype(selected.dtype)
        return jnp.log(jnp.where(inside, selected + jnp.finfo(selected.dtype).tiny, left_out))


def without_masks(fn: Any) -> Any:
    """Return the distribution of a site without the masks around it."""
    while isinstance(fn, dist.MaskedDistribution):
        fn = fn.base_dist
    return fn
