"""The label histogram: what is known of the labels without any reader."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Float, Int

from cordial_ppl.arrays import AnyArray, Logits, LogProbabilities


class Shares(NamedTuple):
    """Log share of each option, nats."""

    log_shares: Float[AnyArray, " K"]


def fit_histogram(logits: Logits, labels: Int[AnyArray, " n"]) -> Shares:
    """Count the labels, `(count_k + 1) / (n + K)`.

    Args:
        logits: readings `[n, K]`; only their number of options is looked at.
        labels: positions `[n]` on the scale, 0..K-1; -1 marks texts to ignore.

    Returns:
        The logs of the shares; equal ones without labels.
    """
    logits = jnp.asarray(logits)
    counts = jnp.sum(jax.nn.one_hot(labels, logits.shape[1], dtype=logits.dtype), axis=0) + 1.0
    return Shares(jnp.log(counts / jnp.sum(counts)))


def histogram_log_probs(params: Shares, logits: Logits) -> LogProbabilities:
    """Log probabilities, the same for every text.

    Args:
        params: the logs of the shares.
        logits: readings `[n, K]`, nats.

    Returns:
        Log probabilities `[n, K]`, nats.
    """
    return jnp.broadcast_to(jnp.asarray(params.log_shares)[None], logits.shape)
