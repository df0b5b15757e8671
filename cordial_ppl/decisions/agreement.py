"""Agreement of people with one another and with a judge, and the most that a judge can reach."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cordial_ppl.data.checks import check_cells, check_level
from cordial_ppl.data.containers import as_numbers
from cordial_ppl.data.frames import aligned
from cordial_ppl.data.labelling import list_labels, rank_texts, share_text
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.estimates.quantities import in_words
from cordial_ppl.decisions.records import list_fields
from cordial_ppl.decisions.votes import Measure, compare_judge, compare_people, pair
from cordial_ppl.errors import InputError, count
from cordial_ppl.runtime.progress import doing
from cordial_ppl.runtime.text_table import align
from cordial_ppl.scores import Interval, as_probabilities

DRAWS = 1000
"""Draws of the bootstrap."""

SHOWN = 10
"""Texts on which people differ that are listed."""

MEASURES = {
    "alpha": "Krippendorff's alpha, ordinal",
    "kappa": "weighted kappa, quadratic",
    "spearman": "rank correlation (Spearman)",
    "exact": "same option",
    "within_one": "at most one option apart",
}
"""Measures of agreement, and what they are called."""

BOUNDS = {"kappa": "linear", "spearman": "alpha", "exact": "exact", "within_one": "within_two"}
"""Whose root bounds a judge's agreement, as `votes` says, by measure."""


class Agreement(NamedTuple):
    """Agreement among people and with judges.

    Attributes:
        texts: number of labelled texts.
        several: number of texts that have several labels.
        clusters: number of clusters of texts.
        level: probability inside the intervals.
        values: intervals by comparison ("people", a prediction, "at most") and measure; see
            `MEASURES`.
        gains: intervals for the gain in agreement from each comparison to the next, by measure.
        apart: rows of texts on which people disagree, largest disagreement first.
    """

    texts: int
    several: int
    clusters: int
    level: float
    values: Mapping[str, Mapping[str, Interval]]
    gains: Mapping[str, Mapping[str, Interval]]
    apart: Sequence[int]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """Return a table with a row for each measure and a column for each comparison."""
        cells = [[write(each.get(name)) for name in MEASURES] for each in self.values.values()]
        rows = zip(MEASURES.values(), *cells, strict=True)
        return [("", *self.values), *(row for row in rows if any(row[1:]))]

    def __str__(self) -> str:
        """Return the agreement as text."""
        title = f"Agreement ({100 * self.level:.0f} % intervals)"
        texts = f"{count(self.texts, 'text')}, {self.several or 'none'} labelled by several people"
        gains = [f"{MEASURES['kappa']}, {of}: {write(g['kappa'])}" for of, g in self.gains.items()]
        return "\n".join([texts, "", title, *align(*self.rows), *gains])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-compatible values."""
        return list_fields(self)


def write(interval: Interval | None) -> str:
    """Write a measure with its interval; nothing where it is not defined."""
    return "" if interval is None or math.isnan(interval.mean) else in_words(interval)


def agreement(
    labels: Any,
    options: Any,
    *,
    clusters: Any = None,
    predictions: Mapping[str, Any] | None = None,
    level: float = 0.9,
) -> Agreement:
    """Measure agreement among people and with judges, with intervals from resampled clusters.

    Args:
        labels: labels [n, annotators], with None for a missing label.
        options: the K options in the order of the scale, or their number K for 0..K-1.
        clusters: cluster of each text, such as its conversation, [n].
        predictions: probabilities [n, K] by name, such as "judge", with rows of NaN for texts
            without a prediction.
        level: probability inside the intervals.

    Returns:
        Intervals of each measure: among people, for each prediction, and for the best that a judge
        can reach.

    Raises:
        InputError: an argument is invalid.

    Source:
        Krippendorff (2004), "Content analysis", chapter 11; formulas are in `decisions.votes`.
    """
    scale = Scale.default(options) if isinstance(options, int) else Scale.of(options)
    check_level(level)
    codes, texts, people = list_labels(labels, scale)
    rows, (one, other) = int(texts.max()) + 1, pair(texts)
    clusters = aligned(labels, range(rows) if clusters is None else clusters, "clusters")
    clusters = check_cells("clusters", clusters, rows)
    measures = {"people": compare_people(codes, texts, people, scale.size)} if one.size else {}
    for name, probs in (predictions or {}).items():
        array = as_numbers(aligned(labels, probs, name), name)
        if array.shape != (rows, scale.size):
            raise InputError(f"{name} must have shape {(rows, scale.size)}; got {array.shape}.")
        if (read := ~np.isnan(array).all(axis=1)).any():
            as_probabilities(array[read])
            measures[name] = compare_judge(array[texts], codes, texts, scale.values)
    cluster = rank_texts(clusters)
    values, gains = _resample(measures, cluster, level)
    if "people" in values:
        # Of people who agree no better than by chance nothing follows for a judge.
        among = {k: each for k, by in BOUNDS.items() if (each := values["people"][by]).mean > 0}
        values["at most"] = {name: _bound(each, len({*people})) for name, each in among.items()}
    far = np.bincount(texts[one], (codes[one] - codes[other]) ** 2 * share_text(texts[one]), rows)
    apart = [row for row in np.argsort(-far, kind="stable")[:SHOWN].tolist() if far[row]]
    several = int(np.sum(np.bincount(texts) > 1))
    return Agreement(rows, several, int(cluster.max()) + 1, level, values, gains, apart)


def _bound(among: Interval, people: int) -> Interval:
    """Bound a judge's agreement with one of so many people by theirs; see `votes`."""
    ends = among._replace(upper=among.upper + (1 - among.upper) / people)
    return Interval(*(math.sqrt(max(end, 0)) for end in ends))


def _resample(
    measures: Mapping[str, Measure], cluster: np.ndarray, level: float
) -> list[dict[str, dict[str, Interval]]]:
    """Measure all texts, and draws of their clusters with replacement; then find gains."""
    rng, number, made = np.random.default_rng(0), int(cluster.max()) + 1, []
    with doing("resampling"), np.errstate(invalid="ignore", divide="ignore"):
        for draw in range(DRAWS + 1):
            taken = rng.integers(0, number, number) if draw else np.arange(number)
            times = np.bincount(taken, minlength=number)[cluster].astype(float)
            made.append({of: measure(times) for of, measure in measures.items()})
    draws = {
        of: {name: np.array([each[of][name] for each in made]) for name in first}
        for of, first in made[0].items()
    }
    gains = {
        f"{other} minus {one}": {name: more[name] - less[name] for name in less if name in more}
        for (one, less), (other, more) in pairwise(draws.items())
    }
    return [
        {of: {name: _summarize(each, level) for name, each in kind[of].items()} for of in kind}
        for kind in (draws, gains)
    ]


def _summarize(draws: np.ndarray, level: float) -> Interval:
    """Find the interval of a measure, of all texts and of draws; without a value there is none."""
    kept = draws[~np.isnan(draws)] if draws[0] == draws[0] else draws
    ends = np.quantile(kept, ((1 - level) / 2, (1 + level) / 2))
    return Interval(float(draws[0]), *ends.tolist())
