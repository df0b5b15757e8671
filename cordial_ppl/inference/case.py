"""A data set to fit a channel or calibrator to, and what a fit to it returns."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.data.labelled import Data, Labelled, find_equal, pad
from cordial_ppl.data.readings import label_histogram
from cordial_ppl.data.smoothing import smooth_histogram
from cordial_ppl.inference.diagnostics import PAPER_METHODS
from cordial_ppl.inference.target import Prior


class Case(NamedTuple):
    """One data set to fit.

    Attributes:
        texts: the labelled texts.
        folds: fold of each label, 0..F-1, the same for those of a text; None to fit all labels
            alone.
        seed: numbers that all randomness follows from.
        prior: location and scale that replace the channel's own; None for these.
        histogram: label histogram to use instead of the labels' own; None for that.
        literal: whether their histogram is the paper's, which adds one count per option.
    """

    texts: Labelled
    folds: Int[np.ndarray, " n"] | None = None
    seed: tuple[int, ...] = (0,)
    prior: Prior | None = None
    histogram: Float[np.ndarray, " K"] | None = None
    literal: bool = False

    def histogram_of(self, labels: Int[np.ndarray, " n"]) -> Float[np.ndarray, " K"]:
        """Compute the smoothed histogram of those labels that are seen."""
        if self.histogram is not None:
            return self.histogram
        smooth = label_histogram if self.literal else smooth_histogram
        return smooth(labels, self.texts.logits.shape[-1], self.texts.weights)

    def seen_by(self, method: str) -> "Case":
        """Return the data set as the method of this name sees it."""
        return self._replace(literal=method in PAPER_METHODS)

    @property
    def masks(self) -> list[Int[np.ndarray, " n"]]:
        """The labels without each fold in turn, in which those of the fold are -1."""
        folds = [] if self.folds is None else range(self.folds.max() + 1)
        return [np.where(self.folds == fold, -1, self.texts.labels) for fold in folds]

    def merge(self, folds: Int[np.ndarray, " n"] | None = None) -> tuple["Case", np.ndarray]:
        """Make rows that no likelihood tells apart one, with the sum of their weights.

        Args:
            folds: what replaces the folds, which are told apart.

        Returns:
            The data set, and which of its rows each row is now.
        """
        texts, folds = self.texts, self.folds if folds is None else folds
        extra = [*texts.covariates.values(), *([] if folds is None else [folds])]
        first, rows = find_equal(texts.logits, texts.labels, *extra)
        texts = replace(texts.take(first), weights=np.bincount(rows, texts.weights))
        return self._replace(texts=texts, folds=None if folds is None else folds[first]), rows

    def pad(self, precision: Any, labels: Int[np.ndarray, " n"] | None = None) -> Data:
        """Pad the texts for a program, with all labels or with those that are seen."""
        labels = self.texts.labels if labels is None else labels
        return pad(replace(self.texts, labels=labels), self.histogram_of(labels), precision)


class CaseFit(NamedTuple):
    """A channel, or another member of a stack, fitted to one data set.

    Attributes:
        fitted: the fit to all labels; of a channel its posterior.
        held_out: probabilities of each text by a fit without its fold; None without folds.
    """

    fitted: Any
    held_out: Float[np.ndarray, "n K"] | None
