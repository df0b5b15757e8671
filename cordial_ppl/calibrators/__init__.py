"""The calibrators: what predicts labels from logits without a posterior; three are in the stack.

A calibrator is a pair of pure functions and knows nothing of folds, padding or estimators.  Texts
labelled -1 are ignored, so that `jax.vmap(fit, (None, 0))` fits the whole sample and its folds at
once; every fit converges to finite parameters however few the labels and whatever classes lack.
"""

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

from cordial_ppl.calibrators.batch import Batch, batch_log_probs, fit_batch
from cordial_ppl.calibrators.crossvalidation import FOLDS
from cordial_ppl.calibrators.dirichlet import (
    INTERCEPTS,
    OFF_DIAGONALS,
    Dirichlet,
    dirichlet_log_probs,
    fit_dirichlet_validated,
)
from cordial_ppl.calibrators.full import (
    STRENGTHS,
    Full,
    fit_full_temperature,
    fit_full_vector,
    full_log_probs,
)
from cordial_ppl.calibrators.histogram import Shares, fit_histogram, histogram_log_probs
from cordial_ppl.calibrators.odds import DECADES, Odds, fit_odds, fit_odds_validated, odds_log_probs
from cordial_ppl.calibrators.raw import fit_raw
from cordial_ppl.calibrators.temperature import Temperature, fit_temperature, temperature_log_probs
from cordial_ppl.calibrators.vector import Vector, fit_vector, vector_log_probs


class Calibrator(NamedTuple):
    """A calibrator by name.

    Attributes:
        name: the member's name in a stack.
        fit: from logits `[n, K]` and labels `[n]` (-1: ignored) to a tuple of parameters.
        log_probs: from parameters and logits `[n, K]` to log probabilities `[n, K]`.
        params: the NamedTuple that `fit` returns.
        fits: how many fits run side by side in one, over penalties and folds.
    """

    name: str
    fit: Callable[..., Any]
    log_probs: Callable[..., Any]
    params: type[Any]
    fits: int = 1


def _fits(*axes: tuple[float, ...]) -> int:
    """Fits of a cross-validated grid: every setting, to all labels and without each fold."""
    return prod(map(len, axes)) * (FOLDS + 1)


CALIBRATORS: dict[str, Calibrator] = {
    calibrator.name: calibrator
    for calibrator in (
        Calibrator("temperature", fit_temperature, temperature_log_probs, Temperature),
        Calibrator("vector", fit_vector, vector_log_probs, Vector),
        Calibrator("odds", fit_odds, odds_log_probs, Odds),
        Calibrator("odds-cv", fit_odds_validated, odds_log_probs, Odds, _fits(DECADES)),
        Calibrator(
            "dirichlet",
            fit_dirichlet_validated,
            dirichlet_log_probs,
            Dirichlet,
            _fits(OFF_DIAGONALS, INTERCEPTS),
        ),
        Calibrator("full", fit_full_temperature, full_log_probs, Full, _fits(STRENGTHS)),
        Calibrator("full-vector", fit_full_vector, full_log_probs, Full, _fits(STRENGTHS)),
        Calibrator("histogram", fit_histogram, histogram_log_probs, Shares),
        Calibrator("raw", fit_raw, temperature_log_probs, Temperature),
        Calibrator("batch", fit_batch, batch_log_probs, Batch),
    )
}

__all__ = ["CALIBRATORS", "Calibrator"]
