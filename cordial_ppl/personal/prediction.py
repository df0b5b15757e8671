"""What users are predicted to say, in blocks of texts: of all that is known, or one by one."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.arrays import CHUNK_ROWS
from cordial_ppl.personal.effects import Effect
from cordial_ppl.personal.evidence import predict_values
from cordial_ppl.personal.labelled import Labelled

Weigh = Callable[[Float[np.ndarray, "n G"], Int[np.ndarray, " n"]], Float[np.ndarray, "n G"]]
"""From log likelihoods of users' labels and their numbers to weights of their values."""


def predict_known(
    effect: Effect,
    probs: Float[np.ndarray, "n K"],
    rows: Int[np.ndarray, " n"],
    totals: Float[np.ndarray, "U G"],
    weigh: Weigh,
    histogram: Float[np.ndarray, " K"],
) -> Float[np.ndarray, "n K"]:
    """Predict texts for users from all their labels.

    Args:
        effect: what may differ between users.
        probs: the population's probabilities.
        rows: number of each text's user; -1 for one without labels, who gets the population's.
        totals: log likelihood of each user's labels at every value.
        weigh: gives the weights of users' values.
        histogram: smoothed label histogram.
    """
    found = probs.copy()
    # Sorted by user, so that each one's values are weighed once and few at a time.
    by_user = np.argsort(rows, kind="stable")[np.sum(rows < 0) :]
    for start in range(0, len(by_user), CHUNK_ROWS):
        texts = by_user[start : start + CHUNK_ROWS]
        who, place = np.unique(rows[texts], return_inverse=True)
        weights = weigh(totals[who], who)[place]
        found[texts] = predict_values(effect, probs[texts], weights, histogram)
    return found


def predict_sequence(
    labelled: Labelled,
    rows: Int[np.ndarray, " n"],
    begun: Int[np.ndarray, " n"],
    counts: Int[np.ndarray, " U"],
    totals: Float[np.ndarray, "U G"],
    weigh: Weigh,
) -> tuple[Float[np.ndarray, "n K"], Int[np.ndarray, " n"]]:
    """Predict each text from its user's earlier labels, and count them.

    Args:
        labelled: the texts, which come one after the other.
        rows: number of each text's user, as the texts are arranged; -1 for one not known before.
        begun: the number under which labels were known before them, or -1.
        counts: each user's number of labels known before.
        totals: log likelihood of these at every value.
        weigh: gives the weights of users' values.
    """
    history = labelled.history
    seen = np.append(counts, 0)[begun] + history.earlier
    found, earlier = labelled.probs.copy(), np.zeros(len(rows), np.int64)
    earlier[history.rows] = seen
    for block, new in labelled.blocks():
        known, sums = begun[block] >= 0, history.sums_before(new, block)
        sums[known] += totals[begun[block][known]]
        texts, some = history.rows[block], seen[block] > 0
        weights, population = weigh(sums, rows[block]), labelled.probs[texts]
        probs = predict_values(labelled.effect, population, weights, labelled.histogram)
        found[texts[some]] = probs[some]
    return found, earlier


def mean_values(
    totals: Float[np.ndarray, "U G"], weigh: Weigh, grid: Float[np.ndarray, " G"]
) -> list[float]:
    """Every user's value: the mean of those that have weight.

    Args:
        totals: log likelihood of each user's labels at every value.
        weigh: gives the weights of users' values.
        grid: the values.
    """
    means = []
    for start in range(0, len(totals), CHUNK_ROWS):
        own = totals[start : start + CHUNK_ROWS]
        means += (weigh(own, start + np.arange(len(own))) @ grid).tolist()
    return means
