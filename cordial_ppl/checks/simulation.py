"""Simulation-based calibration: parameters from the prior, labels from them, and back again.

If the posterior is right, the rank of the true parameter among the posterior's draws is uniform
(Talts, Betancourt, Simpson, Vehtari and Gelman 2018, arXiv 1804.06788).
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float
from scipy.stats import chi2, kstest, norm

from cordial_ppl.checks.finding import Finding, status
from cordial_ppl.checks.texts import Texts, predictions, prior_draws
from cordial_ppl.compilation import compiled
from cordial_ppl.inference.data import Labelled
from cordial_ppl.inference.export import draw_options
from cordial_ppl.inference.fit import Case, fit_cases
from cordial_ppl.inference.importance import resample
from cordial_ppl.inference.target import Target

RANKS = 100
"""Draws among which a true value is ranked."""

BLOCK = 20
"""Data sets that are fitted between two reports of progress."""


class Ranks(NamedTuple):
    """Where the truth lies among the draws of each posterior.

    Attributes:
        names: the quantities: every coordinate of the unconstrained parameters, and the log
            likelihood, which notices a posterior that has not looked at the labels.
        values: ranks as numbers in (0, 1), ties and rounding broken at random.
    """

    names: tuple[str, ...]
    values: Float[np.ndarray, "sets quantities"]

    @property
    def p_values(self) -> dict[str, Float[np.ndarray, " quantities"]]:
        """Probability of ranks as far from uniform, of each quantity, by two tests.

        Kolmogorov and Smirnov's ("ks") sees ranks that are too low or too high; the sum of squared
        normal scores ("spread") a posterior that is too narrow or too wide (Cook, Gelman and Rubin
        2006, J. Comp. Graph. Stat. 15), which the first hardly does.
        """
        below = chi2.cdf((norm.ppf(self.values) ** 2).sum(axis=0), len(self.values))
        return {
            "ks": np.array([kstest(ranks, "uniform").pvalue for ranks in self.values.T]),
            "spread": 2.0 * np.minimum(below, 1.0 - below),
        }


def simulate(
    texts: Texts,
    sets: int,
    *,
    method: str = "default",
    seed: int = 0,
    progress: Callable[[float], None] = lambda share: None,
) -> Ranks:
    """Draw parameters and labels from the model, fit each data set, and rank the truth.

    The label histogram that the channel falls back on is held fixed, as the model has it; where a
    user fits, it is that of the labels.

    Args:
        texts: whose readings are labelled.
        sets: number of simulated data sets.
        method: "default", "laplace" or "mode"; "nuts" takes minutes.
        seed: seed of everything random.
        progress: told the share that is done.
    """
    target, readings = texts.target, texts.readings
    rng = np.random.default_rng([seed, 9])
    with jax.enable_x64(True):
        truth = prior_draws(target, sets)(jax.random.key(seed), target.prior, readings)
        labels = draw_options(np.asarray(predictions(target)(truth, readings)), rng)
    histogram = np.asarray(readings.histogram)
    ranks = []
    for start in range(0, sets, BLOCK):
        some = range(start, min(start + BLOCK, sets))
        cases = [
            Case(
                Labelled(readings.logits, labels[number], readings.covariates),
                seed=(seed, 9, number),
                histogram=histogram,
            )
            for number in some
        ]
        for number, fit in zip(some, fit_cases(target, cases, method=method), strict=True):
            order = rng.permutation(len(fit.fitted.weights))
            with np.errstate(divide="ignore"):
                weights = np.log(fit.fitted.weights[order])
            chosen = fit.fitted.draws[order[resample(rng.random(), weights, RANKS)]]
            points = np.vstack([np.asarray(truth[number])[None], chosen])
            with jax.enable_x64(True):
                likelihood = np.asarray(_likelihood(target)(points, readings, labels[number]))
            true, *others = np.column_stack([points, likelihood])
            below, ties = (np.sum(compare(others, true), 0) for compare in (np.less, np.equal))
            ranks.append((below + rng.random(len(true)) * (ties + 1)) / (RANKS + 1))
        progress(some.stop / sets)
    return Ranks((*target.coordinates, "log likelihood"), np.array(ranks))


def check_simulation(ranks: Ranks) -> Finding:
    """Test whether ranks are uniform."""
    names, tests = ranks.names, ranks.p_values
    test = min(tests, key=lambda name: tests[name].min())
    place = int(tests[test].argmin())
    count = len(names) * len(tests)
    worst = float(min(1.0, tests[test][place] * count))
    values = ranks.values[:, place]
    words = (
        f"{len(values)} data sets: least uniform is the rank of {names[place]} "
        f"(p {worst:.2g} after {count} tests; mean rank {values.mean():.2f}, normal scores with a "
        f"standard deviation of {norm.ppf(values).std():.2f})"
    )
    figures: dict[str, Any] = {"p": worst}
    for name, p_values in tests.items():
        figures[name] = dict(zip(names, p_values.tolist(), strict=True))
    return Finding("simulation-based calibration", status(worst), words, figures)


@lru_cache(maxsize=8)
def _likelihood(target: Target) -> Callable[..., Any]:
    return compiled(jax.vmap(target.log_likelihood, (0, None, None)))
