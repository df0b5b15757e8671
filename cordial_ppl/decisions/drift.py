"""Whether readings are like those of a fit, from counts alone: no text is kept, no table held."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int, Int64

from cordial_ppl.data.labelling import sum_by
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.permutation import adjusted_p
from cordial_ppl.decisions.records import list_fields
from cordial_ppl.stack.sketch import span, steps_of_class

RATE = 0.01
"""Share of alarms where nothing differs, at most."""

LEAST = 0.05
"""Least difference that raises an alarm: a share of the texts, or of the scale's length."""

PERMUTATIONS, SHUFFLED = 999, 10**5
REFUSALS = 0.001
"""Share of alarms on texts without a reading where they are no more and no fewer."""

LARGEST = 10**8
"""Texts of one sketch that are compared at most; of more, a share of each count."""


class Drift(NamedTuple):
    """The difference between new readings and the readings in a fit.

    Attributes:
        p: probability of such a large difference, in options or scores, between texts of one kind.
        share: the smallest share of the texts whose stated option would have to change for equal
            shares of the options (total variation distance).
        distance: difference between the expected scores, in classes (Wasserstein distance).
        options: share of each stated option, in the fit and now.
        means: mean stated option on the scale, in the fit and now.
        scores: mean expected score on the scale, in the fit and now.
        texts: number of texts, in the fit and now.
    """

    p: float
    share: float
    distance: float
    options: Float64[np.ndarray, "2 K"]
    means: tuple[float, float]
    scores: tuple[float, float]
    texts: tuple[int, int]

    @property
    def alarm(self) -> bool:
        """Test whether the readings differ by more than chance, and by enough to matter."""
        length = self.options.shape[1] - 1
        return self.p <= RATE and max(self.share, self.distance / length) >= LEAST

    def describe(self, scale: Scale) -> str:
        """Describe the difference in words."""
        figures = f"p = {self.p:.2g}; {self.texts[1]:,} texts now, {self.texts[0]:,} in the fit"
        if not self.alarm:
            how = "no more than expected by chance" if self.p > RATE else "by too little to matter"
            return f"the readings differ from those in the fit {how} ({figures})"
        words = f"the readings differ from those in the fit ({figures}): "
        if self.share < LEAST:
            return words + "the mean expected score went from {:.2f} to {:.2f}".format(*self.scores)
        was, now = self.options
        most = int(np.abs(now - was).argmax())
        return (
            f"{words}the mean rating went from {self.means[0]:.2f} to {self.means[1]:.2f}, and "
            f"the share of {scale.options[most]!r} from {was[most]:.0%} to {now[most]:.0%}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON-compatible values."""
        return list_fields(self) | {"alarm": self.alarm}


def compare(
    fit: Int64[np.ndarray, "2 _"], new: Int64[np.ndarray, "2 _"], scale: Scale
) -> Drift | None:
    r"""Test whether two sets of readings are of one kind.

    The statistics are those of Pearson, for the stated options, and of Anderson and Darling, for
    the expected scores, where C and c are counts of both sets together and A and a of the first,

    .. math:: \sum_k \frac{(a_k - n c_k / N)^2}{c_k} \quad\text{and}\quad
       \sum_j c_j \frac{(A_j - n C_j / N)^2}{C_j (N - C_j)}.

    Texts change sets at random, 999 times, for the distribution of both at once; the smaller of
    their two p values is ranked among those of the permutations (Westfall and Young, 1993).  So the
    error rate holds for sets of any size and readings of few different values.

    Args:
        fit: sketch of the readings of a fit.
        new: sketch of others.
        scale: their options.

    Returns:
        How they differ; None where one has no texts.
    """
    texts = int(fit[1].sum()), int(new[1].sum())
    if not all(texts):
        return None
    cells, places = np.unique(np.concatenate([fit[0], new[0]]), return_inverse=True)
    counts = np.zeros((2, len(cells)), np.int64)
    counts[0, places[: fit.shape[1]]], counts[1, places[fit.shape[1] :]] = fit[1], new[1]
    option, score = np.divmod(cells, span(scale.size))
    shares = counts / np.array(texts)[:, None]
    options = np.stack([np.bincount(option, row, scale.size) for row in shares])
    steps, step = np.unique(score, return_inverse=True)
    below = np.stack([np.bincount(step, row) for row in shares]).cumsum(axis=1)
    positions = steps / steps_of_class(scale.size)
    values = np.interp(positions, np.arange(scale.size), scale.values)
    means, scores = options @ scale.values, np.diff(below, axis=1, prepend=0.0) @ values
    return Drift(
        p=_permute(counts, option, step),
        share=float(np.abs(options[0] - options[1]).sum() / 2),
        distance=float(np.abs(below[0] - below[1])[:-1] @ np.diff(positions)),
        options=options,
        means=(float(means[0]), float(means[1])),
        scores=(float(scores[0]), float(scores[1])),
        texts=texts,
    )


def differ(fit: Bool[np.ndarray, " n"], new: Bool[np.ndarray, " m"]) -> bool:
    """Test by Fisher's exact test whether shares of texts, such as unread ones, differ.

    Args:
        fit: whether each text of a fit is one.
        new: whether each other text is one.
    """
    from scipy.stats import hypergeom  # Slow to import.

    count, both = int(fit.sum()), len(fit) + len(new)
    draws = hypergeom(both, count + int(new.sum()), len(fit))
    return bool(min(draws.cdf(count), draws.sf(count - 1)) < REFUSALS / 2)


def _permute(
    counts: Int[np.ndarray, "2 cells"],
    option: Int[np.ndarray, " cells"],
    step: Int[np.ndarray, " cells"],
) -> float:
    """P value of two sets of texts, counted in cells, each of an option and a step."""
    scaled = counts * np.minimum(1, LARGEST / counts.sum(axis=1, keepdims=True))
    counts = np.rint(scaled).astype(np.int64)
    some = counts.any(axis=0)
    option, step, first, pooled = option[some], step[some], counts[0, some], counts[:, some].sum(0)
    n, total = int(first.sum()), int(pooled.sum())
    # Few texts are quicker to shuffle, many to count cell by cell.
    few = total < SHUFFLED and min(n, total - n) < 10 * len(pooled)
    method = "count" if few else "marginals"
    # Equal tables have equal p values; others are permuted in other ways.
    rng = np.random.default_rng([*first.tolist(), *pooled.tolist()])
    draws = rng.multivariate_hypergeometric(pooled, n, PERMUTATIONS, method=method)
    excess = np.vstack([first, draws]) - n / total * pooled
    options = sum_by(option, excess) ** 2 @ (1 / sum_by(option, pooled))
    below, each = sum_by(step, excess).cumsum(axis=1)[:, :-1], sum_by(step, pooled).astype(float)
    expected = each.cumsum()[:-1]
    steps = below**2 @ (each[:-1] / (expected * (total - expected)))
    return float(adjusted_p(np.stack([options, steps], axis=1)).min())
