r"""Votes: statistics of how several people agree, and of the best that a judge can reach.

Two labels of a text by different people are a pair; the pairs of a text share its weight.  Where
people would label a text with probabilities p, which is all that a judge can know,

.. math:: \mathrm{E} \max_k p_k \le \mathrm{E} \sqrt{\textstyle\sum_k p_k^2} \le \sqrt{S}

bounds how often the judge agrees with one of them; S is the probability that two labels are the
same, of people who are drawn independently.  For interchangeable people it is that of pairs, P.
For any M people it is at most :math:`(1 - 1/M) P + 1/M`: pairs do not show how often somebody
agrees with himself.  Likewise, two labels within one option of the judge are within two of each
other, and a judge's correlation with one label, with it the weighted kappa, is at most the root of
the reliability of one label: Krippendorff's alpha of classes, and of ranks (ordinal) for the rank
correlation.

Sources: Krippendorff (2004), "Content analysis", chapter 11; Conger (1980), "Integration and
generalization of kappas for multiple raters"; Spearman (1904), "The proof and measurement of
association between two things".
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.data.labelling import rank_texts, share_text, sum_at

SHARED = 10
"""Texts that two annotators must share for their kappa to count."""

GAPS = ("exact", "within_one", "within_two")
"""Shares of pairs that are at most so many options apart: 0, 1 and 2."""

Codes = Int[np.ndarray, " n"]
Times = Float[np.ndarray, " T"]
Measure = Callable[[Times], dict[str, Any]]
"""Measures by name, where each text is taken so many times."""


def compare_people(codes: Codes, texts: Codes, people: Codes, size: int) -> Measure:
    """Prepare to measure how people agree.

    Args:
        codes: labels, positions 0..K-1, [n]; those of a text stand together.
        texts: which text each is of, 0..T-1, [n].
        people: who gave each, 0..M-1, [n]; rising for each text.
        size: number of options K.
    """
    one, other = pair(texts)
    couple = np.unique(people[one] * (people.max() + 1) + people[other], return_inverse=True)[1]
    enough = np.bincount(couple)[couple] >= SHARED
    counts = sum_at((texts, codes), 1, (int(texts.max()) + 1, size))
    compare = _compare(codes[one], codes[other], texts[one], couple, enough)
    return lambda times: {
        "alpha": krippendorff(counts, times),
        "linear": krippendorff(counts, times, np.arange(size)),
        **compare(times),
    }


def compare_judge(
    probs: Float[np.ndarray, "n K"], codes: Codes, texts: Codes, values: Float[np.ndarray, " K"]
) -> Measure:
    """Prepare to measure how a judge agrees with one person; rows of NaN are left out.

    Its rating is the most probable option, and ranks are of its mean.
    """
    read = ~np.isnan(probs).any(axis=1)
    probs, codes, texts = probs[read], codes[read], texts[read]
    means = np.unique(np.round(probs @ values, 9), return_inverse=True)[1]
    ranks, share = values.argsort().argsort()[codes], share_text(texts)
    compare = _compare(probs.argmax(axis=1), codes, texts, 0 * codes, codes >= 0)
    return lambda times: {"spearman": spearman(means, ranks, times[texts] * share)} | compare(times)


def tabulate(
    labels: Sequence[str], texts: Any, people: Sequence[str] | None
) -> tuple[np.ndarray, Codes, Sequence[str]]:
    """Lay labels out in a row per text and a column per person, with None where one is missing.

    Args:
        labels: the options, [n].
        texts: which text each is of, [n].
        people: who gave each, [n]; None if it is all the same person.

    Returns:
        The votes [T, M], the first label of each text, and the people, [M].
    """
    rows = rank_texts(texts)
    first = np.unique(rows, return_index=True)[1]
    names, columns = np.unique(people or [""] * len(rows), return_inverse=True)
    votes = np.full((len(first), len(names)), None, object)
    votes[rows, columns] = labels
    return votes, first, names.tolist()


def pair(texts: Codes) -> Int[np.ndarray, "2 pairs"]:
    """List the rows of the two labels of each pair of labels of a text, which stand together."""
    rows, most = np.arange(len(texts)), int(np.bincount(texts).max())
    steps = range(1, max(2, most))
    pairs = [np.stack([rows[:-d], rows[d:]])[:, texts[:-d] == texts[d:]] for d in steps]
    return np.concatenate(pairs, axis=1)


def _compare(x: Codes, y: Codes, texts: Codes, couple: Codes, enough: Any) -> Measure:
    share, gap = share_text(texts), abs(x - y)

    def compare(times: Times) -> dict[str, Any]:
        weights = times[texts] * share
        shares = {name: 1 - weights @ (gap > k) / weights.sum() for k, name in enumerate(GAPS)}
        return {"kappa": kappa(x, y, weights * enough, couple), **shares}

    return compare


def spearman(x: Codes, y: Codes, weights: Float[np.ndarray, " n"]) -> float:
    """Compute the correlation of the ranks of weighted codes 0, 1, ...; equal ones rank alike."""
    totals = [np.bincount(each, weights) for each in (x, y)]
    ranks = [(t.cumsum() - t / 2)[each] for t, each in zip(totals, (x, y), strict=True)]
    (a, c), (_, b) = np.cov(ranks, aweights=weights)
    return c / np.sqrt(a * b)


def kappa(x: Any, y: Any, weights: Any, couple: Int[np.ndarray, " n"]) -> Any:
    r"""Compute quadratic weighted kappa of couples of raters, each with chance by its own labels.

    .. math:: 1 - \sum_i w_i (x_i - y_i)^2 / \sum_c W_c\, \mathrm{E}_c (x - y')^2

    Of one couple it is Cohen's, of complete labels Conger's.
    """
    sums = [np.bincount(couple, weights * each) for each in (1, x, y, x * x + y * y)]
    chance = (sums[3] - 2 * sums[1] * sums[2] / np.where(sums[0], sums[0], 1)).sum()
    return 1 - weights @ (x - y) ** 2 / chance


def krippendorff(counts: Float[np.ndarray, "T K"], times: Any, values: Any = None) -> Any:
    """Compute Krippendorff's alpha of options by their ranks (ordinal), or by values (interval).

    The ordinal metric, the labels between two options and half of theirs, is a distance of ranks.

    Args:
        counts: labels of each option, a row for each text.
        times: how often each text is taken, [T].
        values: of the options, [K]; ranks by default.
    """
    sizes = counts.sum(axis=1)
    counts, times, sizes = (each[sizes > 1] for each in (counts, times, sizes))
    totals = times @ counts
    values = totals.cumsum() - totals / 2 if values is None else values
    first, second = counts @ values, counts @ values**2
    within = (times * sizes / (sizes - 1)) @ (second - first**2 / sizes) / totals.sum()
    around = totals @ values**2 - (totals @ values) ** 2 / totals.sum()
    return 1 - within * (totals.sum() - 1) / around
