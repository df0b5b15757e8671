"""What a report says: a judge measured on labelled texts, and the texts that it changes most."""

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from cordial_ppl import scores
from cordial_ppl.analyses import Interval, paired_interval
from cordial_ppl.cordial.fingerprints import find_unseen
from cordial_ppl.cordial.stack import Stack
from cordial_ppl.cordial.weighing import stated
from cordial_ppl.errors import InputError
from cordial_ppl.readings import label_histogram
from cordial_ppl.summary import LEVEL, Summary

FEWEST = 8
"""Labelled texts outside the fit from which scores on them are given."""

MOVED = 10
"""Texts that are listed because calibration moves them most."""

PACKAGES = ("cordial-ppl", "jax", "numpyro", "arviz", "numpy")


@dataclass(frozen=True)
class Texts:
    """Texts of a task, some of them labelled.

    Attributes:
        items: What each is called.
        logits: Centred logits [m, K] (nats).
        rows: Which of them are labelled, [n].
        labels: Options of those, 0..K-1, [n].
        covariates: What else is known of each text, [m] each.
        kind: What the readings are: "logit", "logprob", "p", "n" or "rating".
    """

    items: Sequence[str]
    logits: Float[np.ndarray, "m K"]
    rows: Int[np.ndarray, " n"]
    labels: Int[np.ndarray, " n"]
    covariates: dict[str, Float[np.ndarray, " m"]]
    kind: str = "logit"


@dataclass(frozen=True)
class Score:
    """A score of the reading as it is, of the label histogram and of the judge.

    Attributes:
        name: What is measured.
        unit: Its unit; "" for a share.
        raw: Of the reading as it is.
        histogram: Of the label histogram of the fit; None where the judge's file does not tell.
        calibrated: Of the judge.
        gain: How much better the judge is than the raw reading, with its 90 % interval.
    """

    name: str
    unit: str
    raw: float
    histogram: float | None
    calibrated: float
    gain: Interval


@dataclass(frozen=True)
class Moved:
    """A text that calibration moves far, and those with the same reading.

    Attributes:
        item: What it is called.
        others: How many other texts have the same reading.
        before: Mean of what the reader states, on the scale.
        after: Calibrated mean.
        low: Lower end of its 90 % interval.
        high: Upper end of its 90 % interval.
        label: Its label, where it has one.
    """

    item: str
    others: int
    before: float
    after: float
    low: float
    high: float
    label: str | None


@dataclass(frozen=True)
class Facts:
    """All that a report says.

    Attributes:
        judge: The judge.
        texts: The texts.
        summary: The reader's faults, weights, diagnostics and warnings.
        raw: Probabilities that the reader states, [m, K].
        probs: Calibrated probabilities, [m, K].
        unseen: Which of the labelled texts are not of the fit, [n].
        scores: Scores on those; none where they are too few.
        gain: By how much the judge's log loss is below the histogram's there, with its 90 %
            interval; None if not known.
        moved: The texts that calibration moves most.
        versions: Of Python and the packages that matter.
    """

    judge: Stack
    texts: Texts
    summary: Summary
    raw: Float[np.ndarray, "m K"]
    probs: Float[np.ndarray, "m K"]
    unseen: Bool[np.ndarray, " n"]
    scores: tuple[Score, ...]
    gain: Interval | None
    moved: tuple[Moved, ...]
    versions: dict[str, str]

    @property
    def scored(self) -> tuple[Int[np.ndarray, " s"], Int[np.ndarray, " s"]]:
        """Rows and labels of the texts that pictures with labels show: unseen ones if enough."""
        chosen = self.unseen if self.scores else np.ones_like(self.unseen)
        return self.texts.rows[chosen], self.texts.labels[chosen]

    def to_dict(self) -> dict[str, Any]:
        """The summary and the scores as values that JSON can express."""
        found = {
            score.name: {
                "raw": score.raw,
                "histogram": score.histogram,
                "calibrated": score.calibrated,
                "gain": list(score.gain),
            }
            for score in self.scores
        }
        counts = {"labelled": len(self.unseen), "held_out": int(self.unseen.sum())}
        return {"texts": len(self.probs), **counts, "scores": found} | {
            "summary": self.summary.to_dict()
        }


def gather(judge: Stack, texts: Texts) -> Facts:
    """Measure a judge on the labelled texts that it was not fitted to.

    Args:
        judge: The judge.
        texts: The texts, at least one of them labelled.

    Raises:
        InputError: No text is labelled.
    """
    if not len(texts.rows):
        raise InputError("a report needs labels of some of the texts; none came.")
    probs = judge.predict_proba(texts.logits, texts.covariates)
    raw = stated(texts.logits)
    unseen = find_unseen(texts.logits[texts.rows], texts.labels, judge.seen_)
    found, gain = _scores(judge, texts, raw, probs, unseen)
    return Facts(
        judge=judge,
        texts=texts,
        summary=judge.describe(),
        raw=raw,
        probs=probs,
        unseen=unseen,
        scores=found,
        gain=gain,
        moved=_moved(judge, texts, raw, probs),
        versions={"Python": platform.python_version()} | {name: version(name) for name in PACKAGES},
    )


def _scores(
    judge: Stack, texts: Texts, raw: np.ndarray, probs: np.ndarray, unseen: np.ndarray
) -> tuple[tuple[Score, ...], Interval | None]:
    if unseen.sum() < FEWEST:
        return (), None
    rows, labels = texts.rows[unseen], texts.labels[unseen]
    histogram = None
    if judge.label_counts_.size:
        fitted = np.repeat(np.arange(probs.shape[1]), judge.label_counts_)
        shares = np.asarray(label_histogram(fitted, probs.shape[1]), np.float64)
        histogram = np.tile(shares, (len(rows), 1))
    values = judge.scale_.values

    def loss(own: np.ndarray) -> np.ndarray:
        return scores.log_loss(own, labels, per_text=True)

    def ranked(own: np.ndarray) -> np.ndarray:
        return scores.rps(own, labels, per_text=True)

    def miss(own: np.ndarray) -> np.ndarray:
        return np.abs(own @ values - values[labels])

    def wrong(own: np.ndarray) -> np.ndarray:
        return (own.argmax(axis=1) != labels).astype(float)

    measures: tuple[tuple[str, str, Callable[[np.ndarray], np.ndarray]], ...] = (
        ("log loss", "nats", loss),
        ("ranked probability score", "", ranked),
        ("distance of mean and label", "points on the scale", miss),
        ("most probable option is wrong", "share of texts", wrong),
    )
    found = []
    for name, unit, measure in measures:
        before, after = measure(raw[rows]), measure(probs[rows])
        flat = None if histogram is None else float(measure(histogram).mean())
        gain = paired_interval((before - after)[None], level=LEVEL)
        found.append(Score(name, unit, float(before.mean()), flat, float(after.mean()), gain))
    if histogram is None:
        return tuple(found), None
    return tuple(found), paired_interval((loss(histogram) - loss(probs[rows]))[None], level=LEVEL)


def _moved(judge: Stack, texts: Texts, raw: np.ndarray, probs: np.ndarray) -> tuple[Moved, ...]:
    values = judge.scale_.values
    before, after = raw @ values, probs @ values
    said = np.column_stack([texts.logits, np.round(after, 6)])
    _, first, again = np.unique(said, axis=0, return_index=True, return_inverse=True)
    others = np.bincount(again.ravel())[again.ravel()] - 1
    far = np.sort(first)
    rows = far[np.argsort(-np.abs(after - before)[far], kind="stable")][:MOVED]
    extra = {name: column[rows] for name, column in texts.covariates.items()}
    low, high = judge.predict_interval(texts.logits[rows], LEVEL, extra, mean=after[rows])
    labels = dict(zip(texts.rows.tolist(), judge.scale_.decode(texts.labels), strict=True))
    return tuple(
        Moved(
            item=texts.items[int(row)],
            others=int(others[row]),
            before=float(before[row]),
            after=float(after[row]),
            low=float(low[place]),
            high=float(high[place]),
            label=labels.get(int(row)),
        )
        for place, row in enumerate(rows)
    )
