r"""When a full channel overtakes the affine one, on labels whose true probabilities are known.

The labels come from `populations.known_gap`: the best affine channel loses delta to the truth, the
best full one nothing. By maximum likelihood from n labels each loses about `d / (2 n)` besides, d
its number of parameters, whence the crossover `n* = (d_u - d_s) / (2 delta)`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from comparison import jackknife_error
from equivalents import label_equivalents
from jaxtyping import Float, Int
from populations import STARTS, KnownGap, affine_channel, fit_affine, known_gap
from scipy.special import softmax

from cordial_ppl import scores
from cordial_ppl.runtime.arrays import FLOOR
from cordial_ppl.stack.calibrators.full import STRENGTHS, shrink_channel
from cordial_ppl.stack.calibrators.samples import FOLDS

TEXTS = 500
"""Readings of a population: labels are drawn of the same ones again and again."""

MULTIPLES = 2.0 ** np.arange(-4, 3)
"""Numbers of labels around a crossover, in crossovers: from a sixteenth to four."""

LEAST = 8

PARAMETERS = 4
"""Offset, log gain, log concentration and log odds of strength: the affine channel's."""

UNSHRUNK = 1e-6
"""Pseudo-counts a row that change no estimate but keep every probability positive."""


@dataclass(frozen=True)
class ExcessLosses:
    """What the three fits lose by estimation, for rising numbers of labels.

    Args:
        delta: What the nearest affine channel loses to the truth (nats).
        options: Number of options K.
        budgets: Numbers of labels n.
        affine: Expected log loss of each fit over the nearest affine channel's (nats).
        full: That of the unshrunk full channels over the truth's (nats).
        shrunk: That of the shrunk full channels over the truth's (nats).
    """

    delta: float
    options: int
    budgets: Int[np.ndarray, " budgets"]
    affine: Float[np.ndarray, "budgets S"]
    full: Float[np.ndarray, "budgets S"]
    shrunk: Float[np.ndarray, "budgets S"]

    @property
    def crossover(self) -> float:
        """Labels `n* = (K (K - 1) - 4) / (2 delta)` from which a full channel should lead."""
        return scores.crossover(self.options * (self.options - 1), PARAMETERS, self.delta)

    def over_truth(self, fit: str) -> Float[np.ndarray, " budgets"]:
        """Return what a fit loses to the truth: by estimation, and the affine one by its family."""
        return (self.delta if fit == "affine" else 0.0) + getattr(self, fit).mean(axis=1)

    def dimensions(self, fit: str) -> Float[np.ndarray, " budgets"]:
        """Return a fit's effective number of parameters, `d = 2 n mean(excess)`, at each budget."""
        return 2 * self.budgets * getattr(self, fit).mean(axis=1)

    def dimension_errors(self, fit: str) -> Float[np.ndarray, " budgets"]:
        """Return the standard error of `dimensions` over the samples of labels."""
        losses = getattr(self, fit)
        return 2 * self.budgets * losses.std(axis=1, ddof=1) / np.sqrt(losses.shape[1])

    def overtaking(self, fit: str) -> float:
        """Return the labels from which on a full channel loses no more than the affine one.

        After the last budget at which it loses more: there `label_equivalents` of the log ratio of
        the mean losses, which is nearly straight in `log n`.  It is the least budget where the full
        channel leads throughout, infinite where it trails at the largest.
        """
        ratio = getattr(self, fit).mean(axis=1) / (self.delta + self.affine.mean(axis=1))
        last = max(np.flatnonzero(ratio > 1), default=0)
        return label_equivalents(self.budgets[last:], np.log(ratio[last:]), 0.0)

    def overtaking_error(self, fit: str) -> float:
        """Return the jackknife standard error of `overtaking`; a sample is left out of all fits."""

        def overtaking(kept: np.ndarray) -> float:
            parts = {name: getattr(self, name)[:, kept] for name in ("affine", fit)}
            return replace(self, **parts).overtaking(fit)

        return jackknife_error(overtaking, self.affine.shape[1])


def around_crossover(options: int, delta: float, draws: int, seed: int = 0) -> ExcessLosses:
    """Make a population of this gap, and fit channels to labels around the crossover."""
    gap = known_gap(delta, seed, n=TEXTS, options=options)
    expected = scores.crossover(options * (options - 1), PARAMETERS, gap.delta)
    budgets = sorted({max(LEAST, round(expected * multiple)) for multiple in MULTIPLES})
    return excess_losses(gap, budgets, draws, seed)


def excess_losses(gap: KnownGap, budgets: Sequence[int], draws: int, seed: int = 0) -> ExcessLosses:
    """Fit the three channels to draws of labels, and return what they lose by it.

    A draw takes readings of the population with replacement, and a label of each from the truth;
    fewer labels are the first of more. The losses are expectations over the population, with
    probabilities floored at 0.0001.
    """
    rng = np.random.default_rng(seed)
    texts, size = gap.truth.shape
    rows = rng.integers(0, texts, (draws, max(budgets)))
    labels = gap.draw(rng, rows.ravel()).reshape(rows.shape)
    reading = softmax(gap.logits, axis=1)

    def measure(n: int) -> list[list[float]]:
        folds = np.zeros((draws, FOLDS, texts, size))
        draw, column = np.ogrid[:draws, :n]
        np.add.at(folds, (draw, column % FOLDS, rows[:, :n], labels[:, :n]), 1.0)
        return [
            [gap.excess(np.maximum(reading @ channel, FLOOR)) for channel in channels]
            for channels in fit_channels(reading, folds)
        ]

    affine, full, shrunk = np.array([measure(n) for n in budgets]).swapaxes(0, 1)
    return ExcessLosses(gap.delta, size, np.array(budgets), affine - gap.delta, full, shrunk)


def fit_channels(
    reading: Float[np.ndarray, "n K"], folds: Float[np.ndarray, "S folds n K"]
) -> tuple[Float[np.ndarray, "S K K"], ...]:
    """Fit the affine channel and the full one, the latter without shrinkage and with it.

    All are by maximum likelihood, of S draws of labels; the shrunk one is drawn to the affine one
    with the strength of least log loss on folds that a fit has not seen, probabilities floored at
    0.0001, ties to the stronger. Every fold has its own affine fit.

    Args:
        reading: probabilities q that go into the channel.
        folds: how often each reading got each label, in each fold of each draw.
    """
    draws, parts, texts, size = folds.shape
    whole = folds.sum(axis=1)
    rest = whole[:, None] - folds
    phi = fit_affine(reading, whole, np.tile(STARTS, (draws, 1, 1)))
    # Three quarters of the labels: the search begins where that of all has ended.
    near = np.repeat(phi, parts, axis=0)[:, None]
    fold_phi = fit_affine(reading, rest.reshape(-1, texts, size), near)
    centres, _ = affine_channel(phi, size)
    fold_centres, _ = affine_channel(fold_phi.reshape(draws, parts, 1, 4), size)
    # From the strongest down, the first of several strengths that are as good is taken.
    strengths = np.array(STRENGTHS[::-1])

    def strongest(draw: int) -> float:
        """The best strength, by the labels of the folds."""
        fitted = shrink_channel(reading, rest[draw, :, None], fold_centres[draw], strengths)
        logs = np.log(np.maximum(reading @ fitted, FLOOR))
        return strengths[(folds[draw, :, None] * logs).sum(axis=(0, 2, 3)).argmax()]

    chosen = np.array([[UNSHRUNK] * draws, [strongest(draw) for draw in range(draws)]])
    full, shrunk = shrink_channel(reading, whole, centres, chosen)
    return centres, full, shrunk
