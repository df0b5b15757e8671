"""The seam between a channel and everything that is derived from it.

A channel is one NumPyro model ``model(readings, labels=None)`` that samples its named parameters
and hands the log probabilities of the K options to :func:`observe`.  Inference, prediction,
stacking, export and the checks need nothing else from its author.  Here live the record that names
such a model, the ``label`` site, and the one prior that NumPyro's own distributions cannot express
to full precision.  NumPyro is imported when a model runs: one whose programs are kept never does.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jaxtyping import Array, Float, Int

LABEL_SITE = "label"
LOG_ODDS_SUFFIX = "_log_odds"

Model = Callable[..., Any]


class Channel(NamedTuple):
    """A named NumPyro model of the labels given the readings.

    Attributes:
        name: name of the channel in tables and saved files.
        model: ``model(readings, labels=None)``, which observes the labels, by :func:`observe` or
            at a site over the options.
        source: the file from which the model was loaded; empty for a channel without a file.
        digest: SHA-256 of that file when it was run, in hexadecimal; empty for a channel without a
            file.
        examples: names and ranges of covariates, for synthetic texts that check the channel.
        several: True if readings have an axis of judges, ``[n, R, K]``.
        levels: covariates that are indices, such as users, with their numbers of levels L; values
            are whole numbers 0..L-1. The number of levels sets the size of a parameter that has
            one value per level.
        parameters: what the channel's own parameters mean, and their units, as its author
            describes them.
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
    return dict(sorted((pair for channel in channels for pair in channel.levels), reverse=True))


def observe(
    log_probs: Float[Array, "n K"] | None,
    labels: Int[Any, " n"] | None,
    *,
    probs: Float[Array, "n K"] | Sequence[Float[Array, " n"]] | None = None,
) -> None:
    r"""Define the likelihood of a channel: the plate over texts and the ``label`` site.

    .. math:: \log L = \sum_{i : z_i \ge 0} \log \hat p(z_i \mid x_i)

    Args:
        log_probs: log probabilities of the K options for each text, shape ``[n, K]``, nats.
        labels: option of each text, 0..K-1, or -1 for a row that is padding or has no label;
            None to draw labels or to predict.
        probs: probabilities instead of ``log_probs``, for a channel whose probabilities are sums
            of positive terms: shape ``[n, K]``, or K arrays of shape ``[n]``, which is fastest.
    """
    import numpyro

    from cordial_ppl.channels.ordinal import Ordinal

    ordinal = Ordinal(log_probs, probs)
    with numpyro.plate("texts", ordinal.batch_shape[0]):
        numpyro.sample(LABEL_SITE, ordinal, obs=labels)


def sample_log_odds(name: str, loc: Any, scale: Any) -> Any:
    r"""Sample a parameter in (0, 1) through its log odds and return the log odds.

    .. math:: u \sim N(\mathrm{loc}, \mathrm{scale}^2), \qquad \mathrm{name} = 1 / (1 + e^{-u})

    The value itself is recorded under ``name``. The log odds are returned because ``1 - name``
    loses all precision for values that still have prior probability.

    Args:
        name: name of the parameter on (0, 1).
        loc: prior mean of the log odds, a number.
        scale: prior standard deviation of the log odds, a number.

    Returns:
        The log odds u, a scalar array.
    """
    import numpyro
    import numpyro.distributions as dist
    from jax.scipy.special import expit

    log_odds = numpyro.sample(name + LOG_ODDS_SUFFIX, dist.Normal(loc, scale))
    numpyro.deterministic(name, expit(log_odds))
    return log_odds
