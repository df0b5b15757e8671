"""The seam between a channel and everything that is derived from it.

A channel is one NumPyro model ``model(readings, labels=None)`` that samples its named parameters
and hands the log probabilities of the K options to :func:`observe`.  Inference, prediction,
stacking, export and the checks need nothing else from its author.  Here live the record that names
such a model, the ``label`` site with its likelihood, and the one prior that NumPyro's own
distributions cannot express to full precision.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import expit
from jaxtyping import Array, Float, Int
from numpyro.distributions import constraints

from cordial_ppl.errors import ChannelError

LABEL_SITE = "label"
LOG_ODDS_SUFFIX = "_log_odds"

Model = Callable[..., Any]


class Channel(NamedTuple):
    """A named NumPyro model of the labels given the readings.

    Attributes:
        name: what tables and saved files call it.
        model: ``model(readings, labels=None)``, which ends in :func:`observe`.
        source: the file the model was loaded from; empty for a channel that is of no file.
        digest: SHA-256 of that file when it was run, in hexadecimal; empty likewise.
    """

    name: str
    model: Model
    source: str = ""
    digest: str = ""


class Ordinal(dist.Distribution):
    r"""Distribution over K ordered options that is given by its probabilities or their logs.

    .. math:: \log p(z) = \sum_k [z = k] \log p_k

    A label outside ``0..K-1`` has log probability 0: padded and unlabelled rows carry -1 and so
    leave the likelihood.

    Args:
        log_probs: log probabilities in nats, shape ``[..., K]``; they are not normalised again.
        probs: probabilities instead, shape ``[..., K]``.
    """

    arg_constraints = {"log_probs": constraints.real_vector, "probs": constraints.simplex}
    pytree_data_fields = ("_log_probs", "_probs")

    def __init__(
        self,
        log_probs: Float[Array, "... K"] | None = None,
        probs: Float[Array, "... K"] | None = None,
        *,
        validate_args: bool | None = None,
    ):
        """Keep what is given; the other form is computed when it is asked for."""
        given = probs if log_probs is None else log_probs
        if given is None:
            raise ChannelError("an ordinal distribution needs log_probs or probs.")
        self._log_probs, self._probs = log_probs, probs
        super().__init__(batch_shape=given.shape[:-1], validate_args=validate_args)

    @property
    def log_probs(self) -> Float[Array, "... K"]:
        """Log probabilities in nats; the smallest positive number stands for a zero."""
        if self._log_probs is not None:
            return self._log_probs
        return jnp.log(self.probs + jnp.finfo(self.probs.dtype).tiny)

    @property
    def probs(self) -> Float[Array, "... K"]:
        """Probabilities."""
        return jnp.exp(self.log_probs) if self._probs is None else self._probs

    @property
    def size(self) -> int:
        """Number of options K."""
        return (self.probs if self._log_probs is None else self._log_probs).shape[-1]

    @property
    def support(self) -> constraints.Constraint:
        """The options 0..K-1."""
        return constraints.integer_interval(0, self.size - 1)

    def sample(self, key: jax.Array, sample_shape: tuple[int, ...] = ()) -> Int[Array, "..."]:
        """Draw options, shape ``sample_shape + batch_shape``."""
        return jax.random.categorical(key, self.log_probs, shape=sample_shape + self.batch_shape)

    def log_prob(self, value: Int[Array, "..."]) -> Float[Array, "..."]:
        """Log probability of the options in nats; 0 where the option is not in 0..K-1."""
        options = jnp.expand_dims(jnp.arange(self.size), tuple(range(jnp.ndim(value))))
        chosen = jnp.expand_dims(value, -1) == options
        if self._log_probs is not None:
            return jnp.sum(jnp.where(chosen, self._log_probs, 0.0), axis=-1)
        # The one probability that counts is selected before the logarithm is taken.
        probability = jnp.sum(jnp.where(chosen, self.probs, 0.0), axis=-1)
        tiny = jnp.finfo(probability.dtype).tiny
        return jnp.log(jnp.where(jnp.any(chosen, axis=-1), probability + tiny, 1.0))


def observe(
    log_probs: Float[Array, "n K"] | None,
    labels: Int[Any, " n"] | None,
    *,
    probs: Float[Array, "n K"] | None = None,
) -> None:
    r"""State the likelihood of a channel: the plate over texts and the ``label`` site.

    .. math:: \log L = \sum_{i : z_i \ge 0} \log \hat p(z_i \mid x_i)

    Args:
        log_probs: log probabilities of the K options for each text, shape ``[n, K]``, nats.
        labels: option of each text, 0..K-1, or -1 for a row that is padding or has no label;
            None to draw labels or to predict.
        probs: probabilities instead of ``log_probs``, for a channel whose probabilities are sums
            of positive terms: it is faster and no less exact.
    """
    ordinal = Ordinal(log_probs, probs)
    with numpyro.plate("text", ordinal.batch_shape[0]):
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
