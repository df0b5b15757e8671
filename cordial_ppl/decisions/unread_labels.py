"""Labels of texts that the judge could not read, whose calibrated distribution no reading tells."""

import numpy as np
from jaxtyping import Float

from cordial_ppl.decisions.corpus import Corpus, kish_weights
from cordial_ppl.decisions.tilting import EDGE
from cordial_ppl.stack.fit import LIKE_OTHERS

BORROWED = 2.0
"""Labels of its own that outweigh, in a group, what texts without a reading show in all groups."""


def draw_unread(
    texts: Corpus, alike: Float[np.ndarray, "S G K"], rng: np.random.Generator
) -> Float[np.ndarray, "S U K"]:
    r"""Draw how the labels of texts that were not read are distributed, in each cell of such.

    .. math:: p_c \sim \mathrm{Dirichlet}(n_c + b\, r_c), \qquad r_c \propto q_c\, p_0 / \bar q,
        \qquad p_0 \sim \mathrm{Dirichlet}
        \Bigl(2\, \bar q + \sum_c \frac{b + 1}{b + n_{c+}} n_c\Bigr)

    where q are the shares among the texts of the cell's group that were read, and q-bar their mean
    over the labels: not being read has the same odds in every group, as far as labels do not say
    otherwise.  Labels of one cluster count as one.

    Args:
        texts: the corpus.
        alike: draws of the shares among the texts of each group that were read.
        rng: source of random numbers.
    """
    cells, rows = np.flatnonzero(texts.cells.unread), np.flatnonzero(~texts.read[texts.rows])
    places = texts.rows[rows]
    of = texts.cells.of[places]
    weights = kish_weights(texts.weights[rows], of)
    if texts.clusters is not None:
        pairs = np.stack([of, texts.clusters[places]])
        unit, counts = np.unique(pairs, axis=1, return_inverse=True, return_counts=True)[1:]
        weights = weights / counts[unit.ravel()]
    seen = texts.cells.sum(weights[:, None] * texts.labels[rows], places)[cells]
    number, alike = seen.sum(axis=1), alike[:, texts.cells.groups[cells]]
    mean = np.average(alike, axis=1, weights=number if number.any() else None).clip(EDGE)
    mean /= mean.sum(axis=1, keepdims=True)
    shared = (BORROWED + 1) / (BORROWED + np.maximum(number, 1)) if len(cells) > 1 else np.ones(1)
    pooled = rng.standard_gamma(LIKE_OTHERS * mean + shared @ seen)
    pooled /= pooled.sum(axis=1, keepdims=True)
    if len(cells) == 1:
        return pooled[:, None]
    near = alike * (pooled / mean)[:, None]
    masses = rng.standard_gamma(seen + BORROWED * near / near.sum(axis=-1, keepdims=True))
    return masses / masses.sum(axis=-1, keepdims=True)
