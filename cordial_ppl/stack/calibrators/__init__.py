"""The calibrators: what predicts labels from logits without a posterior; three are in the stack.

A calibrator is a pair of pure functions of NumPy arrays in double precision; nothing is compiled.
Texts labelled -1 are ignored, and leading axes are broadcast: labels `[F, n]` beside logits
`[n, K]` fit a sample and its folds at once.  Every fit converges to finite parameters, however few
the labels and whichever classes have none.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from cordial_ppl.stack.calibrators.dirichlet import (
    GRID,
    Dirichlet,
    dirichlet_log_probs,
    fit_dirichlet_path,
)
from cordial_ppl.stack.calibrators.full import STRENGTHS, Full, fit_full, full_log_probs
from cordial_ppl.stack.calibrators.odds import (
    DECADES,
    Odds,
    fit_odds,
    fit_odds_by_label,
    odds_log_probs,
)
from cordial_ppl.stack.calibrators.samples import (
    BatchLabels,
    BatchLogits,
    BatchWeights,
    as_samples,
    cross_validate,
)
from cordial_ppl.stack.calibrators.scaling import (
    Temperature,
    Vector,
    fit_batch,
    fit_histogram,
    fit_raw,
    fit_temperature,
    fit_vector,
    temperature_log_probs,
    vector_log_probs,
)


class Calibrator(NamedTuple):
    """A calibrator by name.

    Attributes:
        name: the member's name in a stack.
        learn: from samples to parameters; where there is a grid, from readings `[n, K]`, labels
            `[G, S, n]`, weights `[n]` and settings, as `cross_validate` says.
        log_probs: from the parameters of one sample and logits `[m, K]` to log probabilities.
        params: the NamedTuple that `fit` returns.
        grid: settings that cross-validation on four folds chooses from, the strongest last: of
            several that are as good, it is taken.
        count: default pseudo-count of its weight.
    """

    name: str
    learn: Callable[..., Any]
    log_probs: Callable[..., Any]
    params: type[Any]
    grid: np.ndarray | None = None
    count: float = 1.0

    def fit(
        self,
        logits: BatchLogits,
        labels: BatchLabels,
        weights: BatchWeights = None,
        folds: BatchLabels | None = None,
    ) -> Any:
        """Fit to samples; a calibrator with a grid takes one table of readings for all.

        Args:
            logits: readings `[*sets, n, K]`, nats, centred.
            labels: positions `[*sets, n]` on the scale, 0..K-1; -1 marks texts to ignore.
            weights: of the labels, `[*sets, n]`; one by default.
            folds: fold of each label in cross-validation, 0..3; by default each is of another text.

        Returns:
            Parameters, each with the leading axes in front.
        """
        if self.grid is None:
            return self.learn(as_samples(logits, labels, weights))
        parts = self.learn, self.log_probs, logits, labels, weights, folds
        return cross_validate(*parts, grid=self.grid)


CALIBRATORS: dict[str, Calibrator] = {
    calibrator.name: calibrator
    for calibrator in (
        Calibrator("temperature", fit_temperature, temperature_log_probs, Temperature, count=0.25),
        Calibrator("vector", fit_vector, vector_log_probs, Vector, count=0.25),
        Calibrator("odds", fit_odds, odds_log_probs, Odds, count=0.5),
        Calibrator("odds-cv", fit_odds_by_label, odds_log_probs, Odds, DECADES),
        Calibrator("dirichlet", fit_dirichlet_path, dirichlet_log_probs, Dirichlet, GRID, 0.25),
        Calibrator("full", partial(fit_full, "scalar"), full_log_probs, Full, STRENGTHS),
        Calibrator(
            "full-vector", partial(fit_full, "scalar-vector"), full_log_probs, Full, STRENGTHS
        ),
        Calibrator("histogram", fit_histogram, vector_log_probs, Vector),
        Calibrator("raw", fit_raw, vector_log_probs, Vector),
        Calibrator("batch", fit_batch, vector_log_probs, Vector),
    )
}
