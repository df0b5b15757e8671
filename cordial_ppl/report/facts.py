"""What a report says: how good a calibrator is, and which texts it changes most."""

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from cordial_ppl import scores
from cordial_ppl.cordial.fingerprints import find_unseen
from cordial_ppl.cordial.stack import Stack
from cordial_ppl.cordial.weighing import stated
from cordial_ppl.errors import InputError
from cordial_ppl.readings import label_histogram
from cordial_ppl.scores import Interval, paired_bootstrap
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
    """A score of the reading as it is, of the label histogram and of the calibrator.

    Attributes:
        name: What is measured.
        unit: Its unit; "" for a share.
        raw: Of the reading as it is.
        histogram: Of the label histogram of the fit; None if the file does not hold it.
        calibrated: Of the calibrator.
        gain: How much better the calibrator is than the raw reading, with its 90 % interval.
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
        calibrator: The calibrator.
        texts: The texts.
        summary: The reader's faults, weights, diagnostics and warnings.
        raw: Probabilities that the reader states, [m, K].
        probs: Calibrated probabilities, [m, K].
        unseen: Which of the labelled texts are not of the fit, [n].
        scores: Scores on those; none where they are too few.
        gain: By how much the calibrator's log loss is below the histogram's there, with its 90 %
            interval; None if not known.
        moved: The texts that calibration moves most.
        versions: Of Python and the packages that matter.
    """

    calibrator: Stack
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
        names = ("raw", "histogram", "calibrated", "gain")
        found = {s.name: {name: getattr(s, name) for name in names} for s in self.scores}
        counts = {"labelled": len(self.unseen), "held_out": int(self.unseen.sum())}
        return {"texts": len(self.probs), **counts, "scores": found} | {
            "summary": self.summary.to_dict()
        }


def gather(calibrator: Stack, texts: Texts) -> Facts:
    """Measure a calibrator on the labelled texts that it was not fitted to.

    Args:
        calibrator: The calibrator.
        texts: The texts, at least one of them labelled.

    Raises:
        InputError: No text is labelled.
    """
    if not len(texts.rows):
        raise InputError("a report needs labels of some of the texts; none came.")
    probs = calibrator.predict_proba(texts.logits, texts.covariates)
    raw = stated(texts.logits)
    unseen = find_unseen(texts.logits[texts.rows], texts.labels, calibrator.seen_)
    found, gain = _scores(calibrator, texts, raw, probs, unseen)
    return Facts(
        calibrator=calibrator,
        texts=texts,
        summary=calibrator.describe(),
        raw=raw,
        probs=probs,
        unseen=unseen,
        scores=found,
        gain=gain,
        moved=_moved(calibrator, texts, raw, probs),
        versions={"Python": platform.python_version()} | {name: version(name) for name in PACKAGES},
    )


def _scores(
    calibrator: Stack, texts: Texts, raw: np.ndarray, probs: np.ndarray, unseen: np.ndarray
) -> tuple[tuple[Score, ...], Interval | None]:
    if unseen.sum() < FEWEST:
        return (), None
    rows, labels = texts.rows[unseen], texts.labels[unseen]
    histogram = None
    if calibrator.label_counts_.size:
        fitted = np.repeat(np.arange(probs.shape[1]), calibrator.label_counts_)
        shares = np.asarray(label_histogram(fitted, probs.shape[1]), np.float64)
        histogram = np.tile(shares, (len(rows), 1))
    values = calibrator.scale_.values

    loss = partial(scores.log_loss, labels=labels, per_text=True)
    measures: dict[tuple[str, str], Callable[..., np.ndarray]] = {
        ("log loss", "nats"): loss,
        ("ranked probability score", ""): partial(scores.rps, labels=labels, per_text=True),
        ("distance of mean and label", "points on the scale"): lambda probs: np.abs(
            probs @ values - values[labels]
        ),
        ("most probable option is wrong", "share of texts"): lambda probs: (
            probs.argmax(axis=1) != labels
        ).astype(float),
    }
    found = []
    for (name, unit), measure in measures.items():
        before, after = measure(raw[rows]), measure(probs[rows])
        flat = None if histogram is None else float(measure(histogram).mean())
        gain = paired_bootstrap((before - after)[None], level=LEVEL)
        found.append(Score(name, unit, float(before.mean()), flat, float(after.mean()), gain))
    if histogram is None:
        return tuple(found), None
    return tuple(found), paired_bootstrap((loss(histogram) - loss(probs[rows]))[None], level=LEVEL)


def _moved(
    calibrator: Stack, texts: Texts, raw: np.ndarray, probs: np.ndarray
) -> tuple[Moved, ...]:
    values = calibrator.scale_.values
    before, after = raw @ values, probs @ values
    said = np.column_stack([texts.logits, np.round(after, 6)])
    _, first, again = np.unique(said, axis=0, return_index=True, return_inverse=True)
    others = np.bincount(again.ravel())[again.ravel()] - 1
    far = np.sort(first)
    rows = far[np.argsort(-np.abs(after - before)[far], kind="stable")][:MOVED]
    extra = {name: column[rows] for name, column in texts.covariates.items()}
    low, high = calibrator.predict_interval(texts.logits[rows], LEVEL, extra, mean=after[rows])
    labels = dict(zip(texts.rows.tolist(), calibrator.scale_.decode(texts.labels), strict=True))
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
