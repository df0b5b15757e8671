"""Which texts to label: a systematic sample along the reading, good at every number of labels.

Texts are sorted by the expected score of their reading. A golden-ratio sequence, `(u + k phi) mod
1` with a random start, walks over the sorted texts; where it meets one that is taken it goes on to
the next free one, round the end. Whatever is labelled first is then spread evenly from the lowest
to the highest reading, and each of the N texts is among the first n with probability n / N.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int64

from cordial_ppl.data.checks import check_cells, check_seed
from cordial_ppl.data.containers import unmasked
from cordial_ppl.data.frames import aligned
from cordial_ppl.data.number_table import is_unread
from cordial_ppl.data.ratings import state
from cordial_ppl.data.readings import as_logits
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, abridge, count, quote, warn

GOLDEN = (5**0.5 - 1) / 2
"""The step of the sequence: of all numbers, the one whose multiples stay furthest apart."""

BETWEEN = 2**0.5 - 1
"""The step from group to group."""

PER_STRATUM = 5
"""Labels that a stratum is to have."""

FEW = 8
"""Clusters with labels below which an interval hardly holds."""

MUCH = 1.5
"""Texts of whole clusters, for each that was asked for, from which on a plan is much larger."""

ALIKE = 0.95
"""Share of texts with one stated option from which readings hardly tell texts apart."""

TOLD_APART = 0.05
"""Share of the scale that the expected scores' standard deviation must exceed if most are alike."""


class Plan(NamedTuple):
    """Texts to label, in order; the first texts are themselves a plan.

    Attributes:
        rows: positions of the texts among the readings, [n].
        stratum: the part of the sorted readings in which each text lies, from 0 for the lowest,
            [n].
        probability: chance that the text is among these n texts, given how many texts of its group
            are chosen and which texts had labels, in (0, 1], [n]; the plan for the first m texts
            has different probabilities.
    """

    rows: Int64[np.ndarray, " n"]
    stratum: Int64[np.ndarray, " n"]
    probability: Float64[np.ndarray, " n"]

    def __repr__(self) -> str:
        """Return the first rows in one line."""
        rows = abridge([*self.rows], 20)
        return f"{count(len(self.rows), 'text')} to label, in order: rows {rows}"


def plan(
    logits: Any,
    n: int,
    *,
    groups: Any = None,
    clusters: Any = None,
    labelled: Any = None,
    options: Any = None,
    seed: int = 0,
) -> Plan:
    """Choose texts to label: a systematic sample along the judge's expected score.

    The first m texts of a plan for n texts are the plan for m texts. With `groups`, each text comes
    from the group that has the fewest labels, so that the groups' numbers of labels differ by at
    most one until a group runs out of texts; within a group, texts are spread along the score.

    Labelled texts are skipped. If the first m texts of a plan are labelled, a plan for n - m texts
    with the same seed completes the plan for n texts.

    With `clusters`, whole clusters of texts are chosen in this way, by mean score, until at least n
    texts are chosen. Clusters with labels are skipped.

    Args:
        logits: readings [N, K] (nats), as for `Cordial.fit`; NaN for texts without a reading, which
            come last and form a stratum.
        n: number of texts to choose.
        groups: group of each text, [N], to spread the labels over groups.
        clusters: cluster of each text, [N], such as its conversation; all texts of a cluster are
            labelled together. With `groups`, each cluster must lie in one group.
        labelled: positions of the labelled texts, [l], which are not chosen.
        options: names of the K options; scores are computed from numeric names, or from positions.
        seed: seed of NumPy's generator, for the start of the sequence and the order of ties.

    Returns:
        The plan: with N_g texts (or clusters) in a group, of which l_g have labels and n_g are
        chosen, the probability of each text is n_g / (N_g - l_g).

    Raises:
        InputError: the readings or the seed are invalid, fewer than n texts have no label, or
            `groups`, `clusters` or `labelled` do not fit the readings.
    """
    groups, clusters = aligned(logits, groups, "groups"), aligned(logits, clusters, "clusters")
    logits = as_logits(logits, gaps=True)
    scale = Scale.of(options, logits.shape[1])
    codes = np.zeros(len(logits), np.int64) if groups is None else _number("groups", groups, logits)
    labelled_rows = _as_rows(labelled, len(logits))
    free = len(logits) - len(labelled_rows)
    if not free:
        raise InputError(f"all {len(logits)} texts are labelled, so there is nothing to plan.")
    if not isinstance(n, int | np.integer) or not 1 <= n <= free:
        which = "texts without a label" if len(labelled_rows) else "texts"
        raise InputError(
            f"n must be a whole number from 1 to {free} (the number of {which}); got {quote(n)}."
        )
    scores = expected_scores(logits, scale)
    if (read := ~np.isnan(scores)).any():
        _warn_of_sameness(logits[read], scores[read], scale)
    has_label = np.isin(np.arange(len(scores)), labelled_rows)
    rng = np.random.default_rng(check_seed(seed))
    if clusters is None:
        rows = _spread(scores, codes, has_label, n, rng)
        chance = share_drawn(codes[rows].tolist(), codes[~has_label].tolist())
        return Plan(rows, score_strata(scores, n)[rows], chance)
    units = _number("clusters", clusters, logits)
    sizes, homes = np.bincount(units), np.zeros(units.max() + 1, np.int64)
    homes[units] = codes
    if (homes[units] != codes).any():
        row = int((homes[units] != codes).argmax())
        raise InputError(
            f"the cluster of row {row} contains texts from several groups. Omit groups, or "
            "split the clusters by group."
        )
    means = np.bincount(units, np.where(np.isnan(scores), scale.values[-1], scores)) / sizes
    seen = np.bincount(units, has_label) > 0
    order = _spread(means, homes, seen, int((~seen).sum()), rng)
    reached = np.flatnonzero(sizes[order].cumsum() >= n)
    if not reached.size:
        raise InputError(f"unlabelled clusters have only {sizes[~seen].sum()} texts; got n = {n}.")
    order = order[: int(reached[0]) + 1]
    rows = np.concatenate([np.flatnonzero(units == unit) for unit in order])
    _warn_of_clusters(n, len(rows), len(order) + int(seen.sum()))
    chance = share_drawn(homes[order].tolist(), homes[~seen].tolist())
    return Plan(rows, score_strata(scores, len(rows))[rows], np.repeat(chance, sizes[order]))


def _spread(
    scores: Float64[np.ndarray, " N"],
    codes: Int64[np.ndarray, " N"],
    has_label: Bool[np.ndarray, " N"],
    n: int,
    rng: np.random.Generator,
) -> Int64[np.ndarray, " n"]:
    """Choose n of what has no label, spread over groups and along the score."""
    start = rng.random()
    order = np.lexsort((rng.random(len(scores)), scores))
    members = [order[codes[order] == code] for code in rng.permutation(codes.max() + 1)]
    walks = [walk(group, (start + index * BETWEEN) % 1) for index, group in enumerate(members)]
    left = np.array([(~has_label[group]).sum() for group in members])
    had = np.array([len(group) for group in members]) - left
    taken, rows = np.zeros(len(members), int), np.empty(n, np.int64)
    for index in range(n):
        home = int(np.where(taken < left, had + taken, np.inf).argmin())
        rows[index] = next(row for row in walks[home] if not has_label[row])
        taken[home] += 1
    return rows


def expected_scores(logits: Float64[np.ndarray, "N K"], scale: Scale) -> Float64[np.ndarray, " N"]:
    """Return the mean that the judge states of each text, on the scale: of a rating, the rating.

    It is NaN for a text that was not read.
    """
    scores, read = np.full(len(logits), np.nan), ~is_unread(logits)
    scores[read] = state(logits[read])[0] @ scale.values
    return scores


def score_strata(scores: Float64[np.ndarray, " N"], n: int) -> Int64[np.ndarray, " N"]:
    """Cut sorted texts into strata of about as many texts each, for n labels; equals stay together.

    Args:
        scores: what texts are sorted by, [N]; NaN for those that were not read, a stratum.
        n: number of labels, of which a stratum is to have about five.

    Returns:
        The stratum of each text, 0 for the lowest, [N].
    """
    count = max(1, n // PER_STRATUM)
    values, places, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    middle = (sizes.cumsum() - sizes / 2) / len(scores)
    parts = np.where(np.isnan(values), count, (middle * count).astype(np.int64))
    _, strata = np.unique(parts, return_inverse=True)
    return strata[places]


def share_drawn(drawn: Sequence[Any], groups: Sequence[Any]) -> Float64[np.ndarray, " n"]:
    """Return for each drawn text the share of its group that is drawn: its inclusion probability.

    Args:
        drawn: group of each text that is drawn, [n].
        groups: group of each that could be, [N].
    """
    number, texts = Counter(drawn), Counter(groups)
    return np.array([number[name] / texts[name] for name in drawn])


def walk(order: Int64[np.ndarray, " m"], start: float) -> Iterator[int]:
    """Visit all of some sorted texts, each once, by the golden-ratio sequence.

    Args:
        order: the texts from the lowest to the highest, [m].
        start: where the sequence begins, in [0, 1).
    """
    size, onward = len(order), {}
    for step in range(size):
        index, passed = min(int((start + step * GOLDEN) % 1 * size), size - 1), []
        while index in onward:
            passed.append(index)
            index = onward[index]
        onward |= dict.fromkeys([*passed, index], (index + 1) % size)
        yield int(order[index])


def _number(noun: str, cells: Any, logits: np.ndarray) -> Int64[np.ndarray, " N"]:
    """Number groups, or clusters, in the order of their names."""
    return np.unique(check_cells(noun, cells, len(logits)), return_inverse=True)[1]


def _as_rows(labelled: Any, size: int) -> Int64[np.ndarray, " l"]:
    """Check positions of texts."""
    rows = np.asarray([] if labelled is None else unmasked(labelled))
    whole = rows.dtype.kind in "iu" or not rows.size
    if not whole or rows.ndim != 1 or (rows.size and not (0 <= rows.min() and rows.max() < size)):
        raise InputError(
            f"labelled must list positions of texts (0..{size - 1}); got {quote(labelled)}."
        )
    return np.unique(rows.astype(np.int64))


def _warn_of_sameness(
    logits: Float64[np.ndarray, "N K"], scores: Float64[np.ndarray, " N"], scale: Scale
) -> None:
    stated = np.bincount(logits.argmax(axis=1), minlength=scale.size)
    share, spread = stated.max() / len(logits), scores.std()
    if len(logits) > 1 and share >= ALIKE and spread <= TOLD_APART * np.ptp(scale.values):
        warn(
            f"the judge's top choice is {scale.options[stated.argmax()]!r} for {share:.0%} of the "
            f"texts, and its expected scores hardly differ (standard deviation {spread:.2g}). "
            "A few labels cannot fix readings that are alike for all texts. Before you label, ask "
            "the judge for probabilities, or change the prompt."
        )


def _warn_of_clusters(asked: int, texts: int, clusters: int) -> None:
    if texts > MUCH * asked:
        warn(
            f"the plan has {texts} texts instead of {asked}, because it selects whole clusters. "
            "Name a column with smaller clusters, or omit the column to select single texts."
        )
    if clusters < FEW:
        warn(
            f"only {count(clusters, 'cluster')} will have labels. Intervals based on fewer than "
            f"{FEW} clusters are unreliable. Select more texts."
        )
