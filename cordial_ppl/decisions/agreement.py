"""Agreement of people with one another and with a judge, and the most that a judge can reach."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cordial_ppl.data.checks import check_cells, check_level
from cordial_ppl.data.containers import as_numbers
from cordial_ppl.data.labelling import list_labels, share_text
from cordial_ppl.data.scale import Scale
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

LESS = " less "
"""Stands between the names of those whose agreements are subtracted."""


class Agreement(NamedTuple):
    """How people agree with one another and with judges.

    Attributes:
        texts: number of labelled texts.
        several: number of texts that have several labels.
        clusters: number of clusters of texts.
        level: probability inside the intervals.
        values: intervals by whose agreement it is, and measure; see `MEASURES`.
        apart: rows of texts on which people differ, the furthest apart first.
    """

    texts: int
    several: int
    clusters: int
    level: float
    values: Mapping[str, Mapping[str, Interval]]
    apart: Sequence[int]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """Return a table: whose agreement it is, and a row for each measure."""
        heads = [of for of in self.values if LESS not in of]
        cells = [[write(self.values[of].get(name)) for of in heads] for name in MEASURES]
        rows = [(name, *row) for name, row in zip(MEASURES.values(), cells, strict=True)]
        return [("", *heads), *rows]

    def __str__(self) -> str:
        """Return the agreement as text."""
        several = f"{self.several} of them with labels by several people"
        title = f"Agreement, with {100 * self.level:.0f} % intervals"
        gains = {of: write(each["kappa"]) for of, each in self.values.items() if LESS in of}
        more = [f"{of}, weighted kappa: {gain}" for of, gain in gains.items()]
        head = f"{count(self.texts, 'text')}, {several}", "", title
        return "\n".join([*head, *align(*self.rows), *more])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON can express."""
        values = {of: {k: v._asdict() for k, v in each.items()} for of, each in self.values.items()}
        return self._asdict() | {"values": values}


def write(interval: Interval | None) -> str:
    """Write a measure with its interval; nothing where it is not defined."""
    if interval is None or math.isnan(interval.mean):
        return ""
    return "{:z.2f} ({:z.2f} to {:z.2f})".format(*interval)


def agreement(
    labels: Any,
    options: Any,
    *,
    clusters: Any = None,
    predictions: Mapping[str, Any] | None = None,
    level: float = 0.9,
) -> Agreement:
    """Measure how people agree with one another and with judges; intervals resample clusters.

    Args:
        labels: labels [n, annotators], with None where one is missing.
        options: the K options in the scale's order, or how many there are, 0..K-1.
        clusters: what texts that are alike have in common, such as a conversation, [n].
        predictions: probabilities [n, K] by name, such as "judge"; rows of NaN where there is none.
        level: probability inside the intervals.

    Returns:
        Intervals of each measure, of people, of each prediction, and of what a judge can reach.

    Raises:
        InputError: an argument is not as it must be.

    Source:
        Krippendorff (2004), "Content analysis", chapter 11; formulas are with `decisions.votes`.
    """
    scale = Scale.default(options) if isinstance(options, int) else Scale.of(options)
    check_level(level)
    codes, texts, people = list_labels(labels, scale)
    rows, (one, other) = int(texts.max()) + 1, pair(texts)
    clusters = check_cells("clusters", range(rows) if clusters is None else clusters, rows)
    measures = {"people": compare_people(codes, texts, people, scale.size)} if one.size else {}
    for name, probs in (predictions or {}).items():
        array = as_numbers(probs, name)
        if array.shape != (rows, scale.size):
            raise InputError(f"{name} must have shape {(rows, scale.size)}; got {array.shape}.")
        if (read := ~np.isnan(array).all(axis=1)).any():
            as_probabilities(array[read])
            measures[name] = compare_judge(array[texts], codes, texts, scale.values)
    cluster = np.unique(clusters, return_inverse=True)[1]
    values = _resample(measures, cluster, level)
    if "people" in values:
        values["at most"] = {}
        for name, bound in BOUNDS.items():
            mean, lower, upper = values["people"][bound]
            ends = mean, lower, upper + (1 - upper) / len({*people.tolist()})
            values["at most"][name] = Interval(*(math.sqrt(max(end, 0)) for end in ends))
    far = np.bincount(texts[one], (codes[one] - codes[other]) ** 2 * share_text(texts[one]), rows)
    apart = [row for row in np.argsort(-far, kind="stable")[:SHOWN].tolist() if far[row]]
    several = int(np.sum(np.bincount(texts) > 1))
    return Agreement(rows, several, int(cluster.max()) + 1, level, values, apart)


def _resample(
    measures: Mapping[str, Measure], cluster: np.ndarray, level: float
) -> dict[str, dict[str, Interval]]:
    """Measure all texts, and draws of their clusters with replacement; find gains, too."""
    rng, number, made = np.random.default_rng(0), int(cluster.max()) + 1, []
    with doing("resampling"), np.errstate(invalid="ignore", divide="ignore"):
        for draw in range(DRAWS + 1):
            taken = rng.integers(0, number, number) if draw else np.arange(number)
            times = np.bincount(taken, minlength=number)[cluster].astype(float)
            made.append({of: measure(times) for of, measure in measures.items()})
            for (one, less), (other, more) in pairwise([*made[-1].items()]):
                gains = {name: more[name] - less[name] for name in less if name in more}
                made[-1][f"{other}{LESS}{one}"] = gains
    result: dict[str, dict[str, Interval]] = {}
    tails = (1 - level) / 2, (1 + level) / 2
    for of, name in [(who, which) for who, each in made[0].items() for which in each]:
        draws = np.array([each[of][name] for each in made])
        # Without a value for all texts there is no interval either.
        kept = draws[~np.isnan(draws)] if draws[0] == draws[0] else draws
        ends = np.quantile(kept, tails).tolist()
        result.setdefault(of, {})[name] = Interval(float(draws[0]), *ends)
    return result
