"""Cross-validation of a calibrator's setting, all settings and folds in one fit of many."""

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.data.labelling import rank_texts
from cordial_ppl.runtime.arrays import FLOOR, AnyArray
from cordial_ppl.stack.calibrators.samples import BatchWeights

FOLDS = 4
EPS = float(np.finfo(np.float64).eps)


def spread_folds(
    labels: Int[AnyArray, " n"], texts: Int[AnyArray, " n"] | None = None
) -> Int[np.ndarray, " n"]:
    """Assign labelled texts to folds at random; sizes differ by at most one text.

    Texts that are ignored change nothing for the others.

    Args:
        labels: positions `[n]` on the scale; -1 marks texts to ignore.
        texts: which text each label is of; by default each of another.

    Returns:
        The fold of each text, 0..3, and -1 for a text to ignore.
    """
    seen, assigned = np.flatnonzero(np.asarray(labels) >= 0), np.full(len(labels), -1)
    ranks = rank_texts((np.arange(len(labels)) if texts is None else np.asarray(texts))[seen])
    assigned[seen] = np.random.default_rng(0).permutation(ranks.max(initial=-1) + 1)[ranks] % FOLDS
    return assigned


def cross_validate[Params: tuple[AnyArray, ...]](
    fit: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], Params],
    log_probs: Callable[[Params, np.ndarray], np.ndarray],
    logits: Float[AnyArray, "*#sets n features"],
    labels: Int[AnyArray, "*#sets n"],
    weights: BatchWeights = None,
    texts: Int[AnyArray, "*#sets n"] | None = None,
    *,
    grid: Float[np.ndarray, "G *axes"],
) -> Params:
    """Fit with the setting that has the lowest held-out log loss.

    Minimises `sum_i -w_i log max(p_(-fold(i))(z_i), FLOOR)` over the grid.  Every setting is fitted
    to all labels and without each fold, in one call a sample, one sample after the other.

    Args:
        fit: from readings `[n, features]`, labels `[G, FOLDS + 1, n]` (-1: ignored), weights `[n]`
            and settings `[G, 1, *axes]` to parameters, a NamedTuple of arrays
            `[G, FOLDS + 1, ...]`.
        log_probs: from parameters and readings to log probabilities `[G, FOLDS + 1, n, K]`.
        logits: readings, or other features of the texts that the fit takes.
        labels: positions on the scale; -1 marks texts to ignore.
        weights: of the labels; one by default.
        texts: which text each label is of, whose labels share a fold; by default each of another.
        grid: settings, from the weakest to the strongest.

    Returns:
        The parameters fitted to all labels with the best setting; of several settings that are as
        good the last, the strongest.
    """

    def choose(
        logits: np.ndarray, labels: np.ndarray, weights: np.ndarray, texts: np.ndarray
    ) -> Params:
        # The first fit leaves out what has no label anyway: it sees them all.
        left_out = spread_folds(labels, texts) == np.arange(-1, FOLDS)[:, None]
        visible = np.where(left_out, -1, labels)
        params = fit(logits, np.tile(visible, (len(grid), 1, 1)), weights, grid[:, None])
        logs = log_probs(params, logits)[:, 1:, np.arange(len(labels)), labels]
        losses = -(left_out[1:] * weights * np.maximum(logs, math.log(FLOOR))).sum(axis=(1, 2))
        good = losses <= losses.min() + EPS**0.6 * (1.0 + losses.min())
        best = np.flatnonzero(good)[-1]
        return type(params)(*(part[best, 0, ...] for part in params))

    shape, count = np.broadcast_shapes(logits.shape[:-2], labels.shape[:-1]), labels.shape[-1]
    weights = np.ones(count) if weights is None else weights
    texts = np.arange(count) if texts is None else texts
    features = np.broadcast_to(logits, (*shape, *logits.shape[-2:]))
    rows = [np.broadcast_to(part, (*shape, count)) for part in (labels, weights, texts)]
    fits = [choose(features[at], *(part[at] for part in rows)) for at in np.ndindex(shape)]
    parts = (np.reshape(part, shape + np.shape(part[0])) for part in zip(*fits, strict=True))
    return type(fits[0])(*parts)
