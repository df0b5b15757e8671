"""The seam between a channel and everything that is derived from it.

A channel is one NumPyro model ``model(readings, labels=None)`` that samples its named parameters
and hands the log probabilities of the K options to :func:`observe`.  Inference, prediction,
stacking, export and the checks need nothing else from its author.  Here live the record that names
such a model, the ``label`` site with its likelihood, and the one prior that NumPyro's own
distributions cannot express to full precision.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import expit
from jaxtyping import Array, Float, Int
from numpyro.distributions import constraints
from numpyro.util import not_jax_tracer

from cordial_ppl.errors import ChannelError, InputError

LABEL_SITE = "label"
LOG_ODDS_SUFFIX = "_log_odds"

Model = Callable[..., Any]


class Channel(NamedTuple):
    """A named NumPyro model of the labels given the readings.

    Attributes:
        name: what tables and saved files call it.
        model: ``model(readings, labels=None)``, which observes the labels, by :func:`observe` or
            at a site over the options.
        source: the file the model was loaded from; empty for a channel that is of no file.
        digest: SHA-256 of that file when it was run, in hexadecimal; empty likewise.
        examples: names and ranges of covariates, for texts that are made up to check the channel.
        several: whether its readings have an axis of readers, ``[n, R, K]``.
        levels: covariates that number something, such as users, and how many there are: whole
            numbers 0..L-1.  A parameter with one value each has its size from here, for a target
            knows no data.
        parameters: what parameters of its own mean, with their units, in its author's words.
    """

    name: str
    model: Model
    source: str = ""
    digest: str = ""
    examples: tuple[tuple[str, float, float], ...] = ()
    several: bool = False
    levels: tuple[tuple[str, int], ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()

    def __deepcopy__(self, _: Any) -> "Channel":
        """Return the channel: nothing of it changes."""
        return self


def count_levels(*channels: Channel) -> dict[str, int]:
    """Levels of each covariate that numbers something; the fewest, if channels differ."""
    pairs = sorted((pair for channel in channels for pair in channel.levels), reverse=True)
    return dict(pairs)


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
            raise ChannelError("an ordinal distribution needs either log_probs or probs.")
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
            wrong = np.flatnonzero((labels < -1) | (labels >= self.size))
            if wrong.size:
                raise InputError(
                    f"labels must be options 0..{self.size - 1}, or -1 for a text that has none; "
                    f"found {labels.flat[wrong[0]]} in row {wrong[0]}."
                )
        inside = (value >= 0) & (value < self.size)
        # The one row that counts is selected before the logarithm is taken.
        chosen = [jnp.where(value == option, row, 0.0) for option, row in enumerate(self._rows)]
        selected = reduce(add, chosen)
        if self._log_probs is not None:
            return jnp.where(inside | (value == -1), selected, -jnp.inf)
        left_out = jnp.where(value == -1, 1.0, 0.0).astype(selected.dtype)
        return jnp.log(jnp.where(inside, selected + jnp.finfo(selected.dtype).tiny, left_out))


def observe(
    log_probs: Float[Array, "n K"] | None,
    labels: Int[Any, " n"] | None,
    *,
    probs: Float[Array, "n K"] | Sequence[Float[Array, " n"]] | None = None,
) -> None:
    r"""State the likelihood of a channel: the plate over texts and the ``label`` site.

    .. math:: \log L = \sum_{i : z_i \ge 0} \log \hat p(z_i \mid x_i)

    Args:
        log_probs: log probabilities of the K options for each text, shape ``[n, K]``, nats.
        labels: option of each text, 0..K-1, or -1 for a row that is padding or has no label;
            None to draw labels or to predict.
        probs: probabilities instead of ``log_probs``, for a channel whose probabilities are sums
            of positive terms: shape ``[n, K]``, or K arrays of shape ``[n]``, which is fastest.
    """
    ordinal = Ordinal(log_probs, probs)
    with numpyro.plate("texts", ordinal.batch_shape[0]):
        numpyro.sample(LABEL_SITE, ordinal, obs=labels)


def sample_log_odds(name: str, loc: Any, scale: Any) -> Any:
    r"""Sample a parameter of (0, 1) through its log odds and return the log odds.

    .. math:: u \sim N(\mathrm{loc}, \mathrm{scale}^2), \qquad \mathrm{name} = 1 / (1 + e^{-u})

    The value itself is recorded under ``name``.  The log odds are returned because ``1 - name``
    has lost all its digits long before the prior says it should.

    Args:
        name: name of the parameter on (0, 1).
        loc: prior mean of the log odds, a number.
        scale: prior standard deviation of the log odds, a number.

    Returns:
        The log odds u, a scalar array.
    """
    log_odds = numpyro.sample(name + LOG_ODDS_SUFFIX, dist.Normal(loc, scale))
    numpyro.deterministic(name, expit(log_odds))
    return log_odds
