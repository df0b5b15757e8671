"""Reliability threshold by threshold: of texts said to be at most t so often, how many are."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import beta

from cordial_ppl.errors import InputError
from cordial_ppl.plots.axis import Axes, drawing, group, short
from cordial_ppl.products.figure import INK, literal
from cordial_ppl.scale import Scale
from cordial_ppl.scores import as_probabilities
from cordial_ppl.summary import LEVEL

TEXTS, MOST, DECIMALS = 20, 8, 3
"""Texts for each bin, bins of a threshold (and thresholds) at most, and decimals of predictions."""

MARKS = "osD^vP*X"


def thresholds(
    probs: Any,
    labels: Any,
    *,
    options: Sequence[str] | Scale | None = None,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    r"""Draw observed against predicted shares of labels at or below each threshold.

    .. math:: P(z \le t) = \sum_{k \le t} p(k), \qquad t = 0, \dots, K - 2

    The texts are split, for each threshold, into up to eight bins of about as many by their
    predicted probability, those with the same in one; vertical lines are the 90 % intervals of the
    observed share under Jeffreys' prior.  Of more than eight thresholds eight are drawn, evenly.  A
    calibrated calibrator follows the diagonal.

    Args:
        probs: probabilities of the options, ``[n, K]``.
        labels: options of the texts, by name or as whole numbers 0..K-1, ``[n]``.
        options: names of the K options; by default 0..K-1.
        title: what stands above.
        ax: where to draw.

    Returns:
        The axis.

    Raises:
        InputError: the arrays cannot be used or differ in length, or matplotlib is not installed.
    """
    shares = as_probabilities(probs)
    scale = Scale.of(options, shares.shape[1])
    codes = scale.encode(labels)
    if len(codes) != len(shares):
        raise InputError(f"{len(shares)} rows of probabilities came with {len(codes)} labels.")
    with drawing(ax) as axis:
        from matplotlib import colormaps

        axis.plot([0, 1], [0, 1], color=INK, lw=0.6, ls=":", marker="")
        shown = np.arange(scale.size - 1)[:: -(-(scale.size - 1) // MOST)].tolist()
        shades = colormaps["viridis"](np.linspace(0.3, 0.85, len(shown)))
        for place, (t, shade) in enumerate(zip(shown, shades, strict=True)):
            said, seen, low, high = _bins(shares[:, : t + 1].sum(axis=1), codes <= t)
            axis.errorbar(
                said,
                seen,
                yerr=np.stack([seen - low, high - seen]),
                color=shade,
                marker=MARKS[place],
                mfc="none",
                ls="",
                elinewidth=0.6,
                label=f"≤ {short(scale.options[t])}",
            )
        axis.set_xlim(-0.02, 1.02)
        axis.set_ylim(-0.02, 1.02)
        axis.set_aspect("equal")
        axis.set_title(literal(title))
        axis.set_xlabel("predicted P(label ≤ t)")
        axis.set_ylabel("observed share")
        axis.legend(loc="lower right")
    return axis


def _bins(said: np.ndarray, below: np.ndarray) -> tuple[np.ndarray, ...]:
    """Mean prediction, observed share and its interval, bin by bin."""
    parts = group(said, int(np.clip(len(said) // TEXTS, 1, MOST)), DECIMALS)
    sizes = np.array([len(part) for part in parts])
    hits = np.array([below[part].sum() for part in parts])
    tails = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    low, high = (beta.ppf(tail, hits + 0.5, sizes - hits + 0.5) for tail in tails)
    share = hits / sizes
    means = np.array([said[part].mean() for part in parts])
    return means, share, np.minimum(low, share), np.maximum(high, share)
