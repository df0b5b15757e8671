"""What a report says: how good a calibrator is, and which texts it changes most."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from cordial_ppl import scores
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.labelling import as_texts, of_fit, share_text
from cordial_ppl.data.ratings import state
from cordial_ppl.data.readings import is_unread
from cordial_ppl.decisions import answers
from cordial_ppl.decisions.drift import Drift
from cordial_ppl.decisions.estimates.bias import Bias
from cordial_ppl.decisions.judge import LEVEL, find_medians
from cordial_ppl.decisions.predictive import LabelCheck, check_labels
from cordial_ppl.decisions.summary import Summary
from cordial_ppl.errors import InputError
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.stack.entering import predict_all
from cordial_ppl.stack.fit import Fit
from cordial_ppl.stack.weighing import stated

FEWEST = 8
"""Labelled texts outside the fit from which scores on them are given."""

FEW = 5
"""Labelled texts outside the fit from which they are checked against the calibrator."""

DISTANCE = "distance of median and label"

MOVED = 10
"""Texts that are listed because calibration moves them most."""


@dataclass(frozen=True)
class TaskTexts:
    """Texts of a task, some of them labelled.

    Attributes:
        items: what each is called; by this name texts of the fit are recognised.
        logits: centred logits [m, K] (nats).
        rows: which of them each label is of, [n].
        labels: options, 0..K-1, [n].
        covariates: what else is known of each text, [m] each.
        columns: what else is known of the labelled texts and may name groups, such as the system
            that wrote each, [n] each.
        weights: what each label counts, [n]; by default the labels of a text share one.
    """

    items: Sequence[str]
    logits: Float[np.ndarray, "m K"]
    rows: Int[np.ndarray, " n"]
    labels: Int[np.ndarray, " n"]
    covariates: dict[str, Float[np.ndarray, " m"]]
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    weights: Float[np.ndarray, " n"] | None = None

    @property
    def read(self) -> "TaskTexts":
        """The texts that were read."""
        read = ~is_unread(self.logits)
        kept = read[self.rows]
        return TaskTexts(
            [*compress(self.items, read)],
            self.logits[read],
            (read.cumsum() - 1)[self.rows[kept]],
            self.labels[kept],
            {name: column[read] for name, column in self.covariates.items()},
            {name: [*compress(cells, kept)] for name, cells in self.columns.items()},
            None if self.weights is None else self.weights[kept],
        )

    @cached_property
    def labelled(self) -> Labelled:
        """The labelled texts, one row a label."""
        extra = {name: column[self.rows] for name, column in self.covariates.items()}
        weights = share_text(self.rows) if self.weights is None else self.weights
        names = as_texts([self.items[row] for row in self.rows.tolist()], len(self.rows))
        return Labelled(self.logits[self.rows], self.labels, extra, weights, names)


class Score(NamedTuple):
    """A score of the raw reading, of the calibrator, and of the label histogram of the fit.

    Attributes:
        means: by "raw", "calibrated" and "histogram"; no log loss of one rating.
        gains: by how much the calibrator is better than each of the others, with 90 % intervals.
    """

    means: dict[str, float]
    gains: dict[str, scores.Interval]


class Moved(NamedTuple):
    """A text that calibration moves far, and those with the same reading.

    Attributes:
        item: what it is called.
        others: how many other texts have the same reading.
        before: mean of what the reader states, on the scale.
        after: calibrated mean.
        low: lower end of its 90 % interval.
        high: upper end of its 90 % interval.
        label: its label; empty where it has none.
    """

    item: str
    others: int
    before: float
    after: float
    low: float
    high: float
    label: str


@dataclass(frozen=True)
class Facts:
    """All that a report says.

    Attributes:
        calibrator: the calibrator.
        texts: the texts.
        summary: the reader's faults, weights, diagnostics and warnings.
        raw: probabilities that the reader states, [m, K].
        probs: calibrated probabilities, [m, K].
        hard: whether each reading is one rating.
        unseen: which of the labels are of texts that are not of the fit, [n].
        scores: scores on those, by name, the log loss first; none where they are too few.
        moved: the texts that calibration moves most.
        drift: how the readings differ from those of the fit, if its file tells.
        check: whether the labels outside the fit are such as it predicts; None where too few.
        biases: groups that are rated too low or too high even after calibration; looked for where
            the labelled texts are those of the fit.
    """

    calibrator: Stack
    texts: TaskTexts
    summary: Summary
    raw: Float[np.ndarray, "m K"]
    probs: Float[np.ndarray, "m K"]
    hard: bool
    unseen: Bool[np.ndarray, " n"]
    scores: dict[str, Score]
    moved: tuple[Moved, ...]
    drift: Drift | None
    check: LabelCheck | None
    biases: Sequence[Bias] = ()

    @property
    def labelled(self) -> int:
        """Number of labelled texts."""
        return self.texts.labelled.count

    @property
    def held_out(self) -> int:
        """Number of labelled texts that are not of the fit."""
        return self.texts.labelled.take(self.unseen).count

    @property
    def scored(self) -> tuple[Int[np.ndarray, " s"], Int[np.ndarray, " s"]]:
        """Rows and labels of the texts that pictures with labels show: unseen ones if enough."""
        chosen = self.unseen if self.scores else np.ones_like(self.unseen)
        return self.texts.rows[chosen], self.texts.labels[chosen]

    def to_dict(self) -> dict[str, Any]:
        """Return the summary and the scores as values that JSON can express."""
        return {
            "texts": len(self.probs),
            "labelled": self.labelled,
            "held_out": self.held_out,
            "scores": {of: each.means | {"gain": each.gains} for of, each in self.scores.items()},
            "summary": self.summary.to_dict(),
            "drift": self.drift and self.drift.to_dict(),
            "check": self.check and self.check.to_dict(),
            "biases": [bias._asdict() for bias in self.biases],
        }


def gather(calibrator: Stack, texts: TaskTexts) -> Facts:
    """Measure a calibrator on the labelled texts that it was not fitted to, and that were read.

    Args:
        calibrator: the calibrator.
        texts: the texts, at least one of them labelled.

    Raises:
        InputError: no text is labelled.
    """
    texts = texts.read
    if not len(texts.rows):
        raise InputError("a report needs at least one labelled text that was read; got none.")
    fit, forecast = calibrator.fit_, None
    if answers.can_forecast(fit):
        forecast = answers.forecast(fit, texts.logits, texts.covariates)
    raw, kind = state(texts.logits)
    probs, *curves = predict_all(fit, texts.logits, LEVEL, texts.covariates)
    unseen = ~of_fit(texts.labelled.texts, fit.texts)
    others = texts.labelled.take(unseen)
    check = None
    if others.count >= FEW:
        check = check_labels(*fit.mixture(others.logits), texts=others, seed=fit.seed)
    return Facts(
        calibrator=calibrator,
        texts=texts,
        summary=answers.describe(fit, forecast),
        raw=raw,
        probs=probs,
        unseen=unseen,
        hard=kind == "rating",
        scores=_score(fit, others, probs[texts.rows[unseen]]) if others.count >= FEWEST else {},
        moved=_list_moved(fit, texts, raw @ fit.scale.values, *curves),
        drift=answers.check_readings(fit, texts.logits),
        check=check,
        biases=_find_bias(fit, texts),
    )


def _find_bias(fit: Fit, texts: TaskTexts) -> Sequence[Bias]:
    """Find biases by group; none where the labelled texts are not just those of the fit."""
    names = texts.labelled.texts
    fitted, order = (np.argsort(each, kind="stable") for each in (fit.texts, names))
    if fit.entered is not fit.labelled or not np.array_equal(names[order], fit.texts[fitted]):
        return ()
    rows = order[np.argsort(fitted)]
    columns = {of: np.array(cells, object)[rows] for of, cells in texts.columns.items()}
    return answers.find_bias(fit, columns)


def _score(fit: Fit, texts: Labelled, probs: Float[np.ndarray, "s K"]) -> dict[str, Score]:
    """Score the predictions of labels, one row each, beside what the reader states."""
    (raw, kind), labels, values = state(texts.logits), texts.labels, fit.scale.values
    smoothed = fit.label_counts + 1
    histogram = np.tile(smoothed / smoothed.sum(), (len(labels), 1))
    reading, others = {"raw": raw}, {"calibrated": probs, "histogram": histogram}
    # Half a count for each option keeps ratings from a log loss of a probability of zero.
    smooth = {"raw": stated(texts.logits)} if kind != "rating" else {}
    measures: dict[str, tuple[dict[str, np.ndarray], Callable[[np.ndarray], np.ndarray]]] = {
        "log loss": (smooth, lambda p: scores.log_loss(p, labels, per_text=True)),
        "ranked probability score": (reading, lambda p: scores.rps(p, labels, per_text=True)),
        DISTANCE: (reading, lambda p: np.abs(values[find_medians(p)] - values[labels])),
        "most probable option is wrong": (reading, lambda p: (p.argmax(1) != labels).astype(float)),
    }
    # A text is one observation, the mean of its labels' losses.
    shares, scored = texts.weights * texts.count / texts.weights.sum(), dict[str, Score]()
    for name, (stating, measure) in measures.items():
        losses = {
            of: np.bincount(texts.ranks, shares * measure(p))
            for of, p in (stating | others).items()
        }
        gains = {
            of: scores.paired_bootstrap((each - losses["calibrated"])[None], level=LEVEL)
            for of, each in losses.items()
            if of != "calibrated"
        }
        scored[name] = Score({of: float(each.mean()) for of, each in losses.items()}, gains)
    return scored


def _list_moved(
    fit: Fit, texts: TaskTexts, before: np.ndarray, after: np.ndarray, *ends: np.ndarray
) -> tuple[Moved, ...]:
    # Texts with the same reading are one.
    same = np.column_stack([texts.logits, np.round(after, 6)])
    _, first, counts = np.unique(same, axis=0, return_index=True, return_counts=True)
    far = np.lexsort([first, -np.abs(after - before)[first]])[:MOVED]
    labels, numbers = np.array(fit.scale.decode(texts.labels)), np.stack([before, after, *ends], 1)
    moved: list[Moved] = []
    for row, others in zip(first[far].tolist(), (counts[far] - 1).tolist(), strict=True):
        label = ", ".join(labels[texts.rows == row])
        moved.append(Moved(texts.items[int(row)], others, *numbers[row].tolist(), label=label))
    return tuple(moved)
