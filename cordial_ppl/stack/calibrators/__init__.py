"""The calibrators: what predicts labels from logits without a posterior; three are in the stack.

A calibrator is a pair of pure functions of NumPy arrays in double precision; nothing is compiled.
Texts labelled -1 are ignored, and leading axes are broadcast: labels `[F, n]` beside logits
`[n, K]` fit a sample and its folds at once.  Every fit converges to finite parameters, however few
the labels and whichever classes have none.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from cordial_ppl.stack.calibrators.dirichlet import (
    Dirichlet,
    dirichlet_log_probs,
    fit_dirichlet_validated,
)
from cordial_ppl.stack.calibrators.full import (
    Full,
    fit_full_temperature,
    fit_full_vector,
    full_log_probs,
)
from cordial_ppl.stack.calibrators.odds import Odds, fit_odds, fit_odds_validated, odds_log_probs
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
        fit: from logits `[*sets, n, K]`, labels `[*sets, n]` (-1: ignored) and their weights to
            parameters, each with the leading axes in front.
        log_probs: from the parameters of one sample and logits `[m, K]` to log probabilities.
        params: the NamedTuple that `fit` returns.
        validated: whether `fit` cross-validates: it takes one table of readings, and the fold of
            each label.
        count: default pseudo-count of its weight.
    """

    name: str
    fit: Callable[..., Any]
    log_probs: Callable[..., Any]
    params: type[Any]
    validated: bool = False
    count: float = 1.0


CALIBRATORS: dict[str, Calibrator] = {
    calibrator.name: calibrator
    for calibrator in (
        Calibrator("temperature", fit_temperature, temperature_log_probs, Temperature, count=0.25),
        Calibrator("vector", fit_vector, vector_log_probs, Vector, count=0.25),
        Calibrator("odds", fit_odds, odds_log_probs, Odds, count=0.5),
        Calibrator("odds-cv", fit_odds_validated, odds_log_probs, Odds, True),
        Calibrator(
            "dirichlet", fit_dirichlet_validated, dirichlet_log_probs, Dirichlet, True, 0.25
        ),
        Calibrator("full", fit_full_temperature, full_log_probs, Full, True),
        Calibrator("full-vector", fit_full_vector, full_log_probs, Full, True),
        Calibrator("histogram", fit_histogram, vector_log_probs, Vector),
        Calibrator("raw", fit_raw, vector_log_probs, Vector),
        Calibrator("batch", fit_batch, vector_log_probs, Vector),
    )
}

__all__ = ["CALIBRATORS", "Calibrator"]
