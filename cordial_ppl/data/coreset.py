"""A coreset: few weighted texts whose likelihood stands in for that of many."""

import math

import numpy as np
from scipy.special import softmax

from cordial_ppl.data.labelled import TILE, Labelled

ROWS, SHARE = 4.0, 0.4
"""Rows of a coreset, for the root of the texts' number and rounded up to whole tiles, and the share
of the texts that they are at most."""

TEMPERATURE, EQUAL = 3.0, 1e-9
"""At which readings are compared; and the spread of a group of equal ones."""


def build_coreset(texts: Labelled) -> Labelled:
    """Put texts with the same label and similar readings together, with the sum of their weights.

    The group with the largest spread is split in two until there are as many as wanted.  Readings
    are compared by the roots of the options' probabilities: what no channel tells apart is near.

    Args:
        texts: labelled texts.

    Returns:
        A text with the mean reading of each group; all texts where these are few, and where they
        have covariates or readings of several readers.

    Source:
        Huggins, Campbell and Broderick (2016), "Coresets for scalable Bayesian logistic
        regression", who draw weighted texts where groups are averaged here.
    """
    logits, labels, weights = texts.logits, texts.labels, texts.weights
    size = TILE * math.ceil(ROWS * len(labels) ** 0.5 / TILE)
    if size > SHARE * len(labels) or texts.covariates or texts.readers:
        return texts
    roots = np.sqrt(softmax(logits / TEMPERATURE, axis=1))

    def rate(rows: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return a group's spread, its rows, and those above the mean where it is widest."""
        centred = roots[rows] - np.average(roots[rows], axis=0, weights=weights[rows])
        spread = weights[rows] @ centred**2
        return spread.sum(), rows, centred[:, spread.argmax()] > 0

    groups = [rate(np.flatnonzero(labels == label)) for label in np.unique(labels)]
    while len(groups) < size and max(spreads := [spread for spread, *_ in groups]) > EQUAL:
        _, rows, above = groups.pop(np.argmax(spreads))
        groups += [rate(rows[above]), rate(rows[~above])]
    rows = [rows for _, rows, _ in groups]
    means = [np.average(logits[each], axis=0, weights=weights[each]) for each in rows]
    sums = np.array([weights[each].sum() for each in rows])
    return Labelled(np.stack(means), labels[[each[0] for each in rows]], {}, sums)
