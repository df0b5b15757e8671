"""What a report says: how good a calibrator is, and which texts it changes most."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress, repeat
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from cordial_ppl import scores
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.labelling import as_texts, salt_texts, share_text
from cordial_ppl.data.number_table import is_unread
from cordial_ppl.data.ratings import state
from cordial_ppl.data.readings import label_histogram
from cordial_ppl.data.smoothing import smooth_histogram
from cordial_ppl.decisions import answers
from cordial_ppl.decisions.agreement import Agreement, agreement
from cordial_ppl.decisions.drift import Drift
from cordial_ppl.decisions.estimates.bias import Bias
from cordial_ppl.decisions.judge import LEVEL, find_medians
from cordial_ppl.decisions.predictive import LabelCheck, check_labels
from cordial_ppl.decisions.summary import Summary
from cordial_ppl.decisions.verdict import guess_others
from cordial_ppl.decisions.votes import tabulate
from cordial_ppl.errors import InputError
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.stack.entering import predict_all
from cordial_ppl.stack.fit import Fit
from cordial_ppl.stack.sketch import sketch
from cordial_ppl.stack.weighing import stated

FEWEST = 8
"""Labelled texts outside the fit from which scores on them are given."""

FEW = 5
"""Labelled texts outside the fit from which they are checked against the calibrator."""

DISTANCE, WRONG = "distance from median to label", "most probable option is wrong"

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
        people: who gave each label, [n], if that is known.
    """

    items: Sequence[str]
    logits: Float[np.ndarray, "m K"]
    rows: Int[np.ndarray, " n"]
    labels: Int[np.ndarray, " n"]
    covariates: dict[str, Float[np.ndarray, " m"]]
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    weights: Float[np.ndarray, " n"] | None = None
    people: Sequence[str] | None = None

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
            self.people and [*compress(self.people, kept)],
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
        unread: how many texts were not read, and how many of these are labelled; nothing else but
            biases is of them.
        unseen: which of the labels are of texts that are not of the fit, [n].
        scored: labelled texts that scores and pictures are of: those that are not of the fit, or
            the fit's own, predicted without their fold, where these are too few.
        predicted: probabilities of these.
        scores: scores by name, the log loss first; none where the fit has no folds, either.
        moved: the texts that calibration moves most.
        drift: how the readings differ from those of the fit, if its file tells, and not the same.
        check: whether the labels outside the fit are such as it predicts; None where too few.
        biases: groups that are rated too low or too high even after calibration; looked for where
            the labelled texts are those of the fit, read or not.
        agreement: how people agree with one another and with the judge, where they are named and
            each gave a text one label.
    """

    calibrator: Stack
    texts: TaskTexts
    summary: Summary
    raw: Float[np.ndarray, "m K"]
    probs: Float[np.ndarray, "m K"]
    hard: bool
    unread: tuple[int, int]
    unseen: Bool[np.ndarray, " n"]
    scored: Labelled
    predicted: Float[np.ndarray, "s K"]
    scores: dict[str, Score]
    moved: tuple[Moved, ...]
    drift: Drift | None
    check: LabelCheck | None
    biases: Sequence[Bias] = ()
    agreement: Agreement | None = None

    @property
    def labelled(self) -> int:
        """Number of labelled texts."""
        return self.texts.labelled.count

    @property
    def out_of_fold(self) -> bool:
        """Whether scores are of the texts of the fit, predicted without their fold."""
        return self.scored is self.calibrator.fit_.labelled

    @property
    def held_out(self) -> int:
        """Number of labelled texts that are not of the fit."""
        return self.texts.labelled.take(self.unseen).count

    def to_dict(self) -> dict[str, Any]:
        """Return the summary and the scores as values that JSON can express."""
        return {
            "texts": len(self.probs),
            "labelled": self.labelled,
            "unread": dict(zip(("texts", "labels"), self.unread, strict=True)),
            "held_out": self.held_out,
            "out_of_fold": self.out_of_fold,
            "scores": {of: each.means | {"gain": each.gains} for of, each in self.scores.items()},
            "summary": self.summary.to_dict(),
            "drift": self.drift and self.drift.to_dict(),
            "check": self.check and self.check.to_dict(),
            "biases": [bias._asdict() for bias in self.biases],
            "agreement": self.agreement and self.agreement.to_dict(),
        }


def gather(calibrator: Stack, texts: TaskTexts) -> Facts:
    """Measure a calibrator on labelled texts that were read.

    They are those that it was not fitted to; where these are too few, its out-of-fold predictions
    of those that it was fitted to are measured.

    Args:
        calibrator: the calibrator.
        texts: the texts, at least one of them labelled.

    Raises:
        InputError: no text is labelled.
    """
    entered, texts = texts, texts.read
    if not len(texts.rows):
        raise InputError("a report needs at least one labelled text with a reading; got none.")
    fit, forecast = calibrator.fit_, None
    if answers.can_forecast(fit):
        forecast = answers.forecast(fit, texts.logits, texts.covariates)
    raw, kind = state(texts.logits)
    probs, *curves = predict_all(fit, texts.logits, LEVEL, texts.covariates)
    unseen = ~fit.labelled.has(texts.labelled.texts)
    others, predicted, scored = texts.labelled.take(unseen), fit.out_of_fold, fit.labelled
    few = others.count < FEWEST
    if predicted is None or not few:
        chosen = np.flatnonzero(unseen | few)
        scored, predicted = texts.labelled.take(chosen), probs[texts.rows[chosen]]
    drift = answers.check_readings(fit, texts.logits)
    # Somebody has two labels of a text if one between two options was split.
    single = len({*zip(texts.rows.tolist(), texts.people or (), strict=False)}) == len(texts.rows)
    return Facts(
        calibrator=calibrator,
        texts=texts,
        summary=answers.describe(fit, forecast),
        raw=raw,
        probs=probs,
        unread=(len(entered.items) - len(texts.items), len(entered.rows) - len(texts.rows)),
        unseen=unseen,
        scored=scored,
        predicted=predicted,
        hard=kind == "rating",
        scores=_score(fit, scored, predicted) if not few or scored is fit.labelled else {},
        moved=_list_moved(fit, texts, raw @ fit.scale.values, *curves),
        drift=None if np.array_equal(sketch(texts.logits), fit.sketch) else drift,
        check=check_labels(fit, others) if others.count >= FEW else None,
        biases=_find_bias(fit, entered),
        agreement=_agree(fit, texts, raw, probs) if single else None,
    )


def _find_bias(fit: Fit, texts: TaskTexts) -> Sequence[Bias]:
    """Find biases by group; none where the labelled texts are not just those of the fit."""
    names, digests = salt_texts(texts.labelled.texts, fit.entered.salt), fit.entered.texts
    fitted, order = (np.argsort(each, kind="stable") for each in (digests, names))
    if not np.array_equal(names[order], digests[fitted]):
        return ()
    rows = order[np.argsort(fitted)]
    columns = {of: np.array(cells, object)[rows] for of, cells in texts.columns.items()}
    return answers.find_bias(fit, columns)


def _agree(fit: Fit, texts: TaskTexts, raw: np.ndarray, probs: np.ndarray) -> Agreement:
    """Measure how people agree with one another, and with the judge: out of fold, if of the fit."""
    names, predicted = salt_texts(texts.labelled.texts, fit.labelled.salt).tolist(), probs.copy()
    folds = repeat(np.nan) if fit.out_of_fold is None else fit.out_of_fold
    fitted = dict(zip(fit.labelled.texts.tolist(), folds, strict=False))
    for row, name in zip(texts.rows, names, strict=True):
        predicted[row] = fitted.get(name, probs[row])
    votes, first, _ = tabulate(fit.scale.decode(texts.labels), texts.rows, texts.people)
    rows = texts.rows[first]
    judges = {"judge": raw[rows], "calibrated": predicted[rows]}
    return agreement(votes, fit.scale, predictions=judges, level=LEVEL)


def _score(fit: Fit, texts: Labelled, probs: Float[np.ndarray, "s K"]) -> dict[str, Score]:
    """Score the predictions of labels, one row each, beside what the reader states."""
    (raw, kind), labels, values = state(texts.logits), texts.labels, fit.scale.values
    seen = fit.labelled.labels, fit.scale.size, fit.labelled.weights
    histogram, smoothed = label_histogram(*seen), smooth_histogram(*seen)
    guess = {"raw": raw, "calibrated": probs, "histogram": np.broadcast_to(histogram, probs.shape)}
    # As in the verdict: a probability of a text's own label is by the labels of the others.
    apart = guess | {"histogram": np.broadcast_to(smoothed, probs.shape)}
    if texts is fit.labelled:
        apart["histogram"] = guess_others(fit.text_labels)[texts.ranks]
    # Half a count for each option keeps ratings from a log loss of a probability of zero.
    smooth = apart | {"raw": stated(texts.logits)}
    if kind == "rating":
        del smooth["raw"]
    measures: dict[str, tuple[dict[str, np.ndarray], Callable[[np.ndarray], np.ndarray]]] = {
        "log loss": (smooth, lambda p: scores.log_loss(p, labels, per_text=True)),
        "ranked probability score": (apart, lambda p: scores.rps(p, labels, per_text=True)),
        DISTANCE: (guess, lambda p: np.abs(values[find_medians(p)] - values[labels])),
        WRONG: (guess, lambda p: (p.argmax(1) != labels).astype(float)),
    }
    if len(values) == 2:
        del measures[DISTANCE]
    # A text is one observation, the mean of its labels' losses.
    shares, scored = texts.weights * texts.count / texts.weights.sum(), dict[str, Score]()
    for name, (predicted, measure) in measures.items():
        losses = {of: np.bincount(texts.ranks, shares * measure(p)) for of, p in predicted.items()}
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
