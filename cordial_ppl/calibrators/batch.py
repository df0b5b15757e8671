"""Batch calibration: takes out what a reader says on average, without labels."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Float, Int

from cordial_ppl.arrays import AnyArray, Logits, LogProbabilities


class Batch(NamedTuple):
    """Log of the mean prediction over a batch of texts, nats; zero for an empty one."""

    log_mean: Float[AnyArray, " K"]


def fit_batch(logits: Logits, labels: Int[AnyArray, " n"]) -> Batch:
    """Average the predictions, `m(z) = mean_i softmax(logits_i)(z)`.

    Args:
        logits: readings `[n, K]`, nats.
        labels: -1 marks texts that are not of the batch; nothing else of them is looked at.

    Returns:
        The log of the mean.

    Source:
        Zhou et al. (2024), "Batch calibration: rethinking calibration for in-context learning and
        prompt engineering".
    """
    logits = jnp.asarray(logits)
    seen = jnp.asarray(labels) >= 0
    total = jnp.sum(seen, dtype=logits.dtype)
    # A sum of exponentials: an option that no text believes in has a mean far below rounding.
    logs = jnp.where(seen[:, None], jax.nn.log_softmax(logits, axis=1), -jnp.inf)
    log_mean = jax.nn.logsumexp(logs, axis=0) - jnp.log(jnp.maximum(total, 1.0))
    return Batch(jnp.where(total > 0.0, log_mean, jnp.zeros_like(log_mean)))


def batch_log_probs(params: Batch, logits: Logits) -> LogProbabilities:
    """Log probabilities of `p(z) = softmax(logits)(z) / m(z)`, normalised.

    Args:
        params: the log of the mean prediction.
        logits: readings `[n, K]`, nats.

    Returns:
        Log probabilities `[n, K]`, nats.
    """
    return jax.nn.log_softmax(logits - jnp.asarray(params.log_mean)[None], axis=1)
