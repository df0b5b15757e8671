"""How far the average of readers trusts each of them: a reader that says nothing spoils it."""

import math

import numpy as np
from jaxtyping import Bool, Float

from cordial_ppl.data.labelled import Labelled
from cordial_ppl.runtime.arrays import FLOOR
from cordial_ppl.stack.stacking import LEAST_ERROR, MIN_LABELS
from cordial_ppl.stack.weighing import stated

AGREEMENT, SPREAD = 0.6, 0.3
"""Mean and standard deviation of Fisher's z between readers that read the same thing."""

PRIOR_LOG_ODDS = -1.5
"""Of a reader that is worse than the best, to read anything; chosen on the readings of
``benchmarks/fusion.py``."""

LEAST_TRUST = 0.001
"""Of texts that no other reader has read, the average is the reader that nobody trusts."""


def trust_readers(
    texts: Labelled, held_out: Float[np.ndarray, "n K R"], present: Bool[np.ndarray, "n R"]
) -> Float[np.ndarray, " R"]:
    r"""Weigh readers for their average by their losses and by their agreement with the best one.

    .. math:: \min\Bigl(1,\; e^{-1.5 - \max(z_r, 0)^2 / 2}\,
        \frac{\mathrm{N}(f_r; 0.6, v + 0.09)}{\mathrm{N}(f_r; 0, v)}\Bigr), \qquad
        z_r = \frac{\bar d_r}{\mathrm{se}(d_r) + 0.01}, \quad v = \frac{1}{n - 3}

    Here d is by how much the out-of-fold loss of a reader's stack exceeds that of the best one, and
    f Fisher's z, the inverse hyperbolic tangent of the correlation of the positions that the two
    state.  A reader that agrees with the best one, or predicts as well, is averaged; one of noise
    hardly, where the labels tell.

    Args:
        texts: the labelled texts, with the readings of all readers.
        held_out: probabilities by each reader's stack, out of fold.
        present: which of these there are.

    Returns:
        Weights between 0.001 and 1, of the best reader 1; 1 of readers that share fewer than eight
        labelled texts with it.
    """
    options = np.arange(texts.logits.shape[2])
    logs = np.log(np.maximum(held_out[np.arange(len(texts.labels)), texts.labels], FLOOR))
    trust, weights = np.ones(present.shape[1]), texts.weights[:, None] * present
    counts = [len(np.unique(texts.texts[seen])) for seen in present.T]
    losses = -(weights * logs).sum(axis=0) / np.maximum(weights.sum(axis=0), FLOOR)
    best = int(np.argmin(np.where(np.array(counts) >= MIN_LABELS, losses, np.inf)))
    for reader in range(len(trust)):
        both = present[:, reader] & present[:, best]
        part = texts.take(both)
        n, share = part.count, part.weights / max(part.weights.sum(), FLOOR)
        if reader == best or n < MIN_LABELS:
            continue
        excess = logs[both, best] - logs[both, reader]
        mean = share @ excess
        # What is said of one text goes together.
        apart = np.bincount(part.ranks, share * (excess - mean))
        score = max(mean / (math.sqrt(apart @ apart) + LEAST_ERROR), 0.0)
        means = np.stack([stated(part.logits[:, each]) @ options for each in (best, reader)])
        (first, both_vary), (_, second) = np.cov(means, aweights=share)
        alike = both_vary / math.sqrt(first * second) if first * second > 0 else 0.0
        f, v = math.atanh(min(max(alike, -0.99), 0.99)), 1 / (n - 3)
        wide = v + SPREAD**2
        log_ratio = (math.log(v / wide) - (f - AGREEMENT) ** 2 / wide + f**2 / v) / 2
        log_odds = PRIOR_LOG_ODDS - score**2 / 2 + log_ratio
        trust[reader] = max(math.exp(min(log_odds, 0.0)), LEAST_TRUST)
    return trust
