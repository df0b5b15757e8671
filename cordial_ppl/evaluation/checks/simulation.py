"""Simulation-based calibration: parameters from the prior, labels from them, and back again.

If the posterior is right, the rank of the true parameter among the posterior's draws is uniform
(Talts, Betancourt, Simpson, Vehtari and Gelman 2018, arXiv 1804.06788).
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import chi2, kstest, norm

from cordial_ppl.data.labelled import Labelled
from cordial_ppl.evaluation.checks.finding import Finding, verdict
from cordial_ppl.evaluation.checks.trial import Trial, over_draws
from cordial_ppl.inference.fit import Case, fit_cases
from cordial_ppl.inference.importance import resample
from cordial_ppl.runtime.progress import doing

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


def simulate(trial: Trial, sets: int, *, method: str = "default") -> Ranks:
    """Draw parameters and labels from the model, fit each data set, and rank the truth.

    The label histogram that the channel falls back on is held fixed, as the model has it; where a
    user fits, it is that of the labels.

    Args:
        trial: whose readings are labelled.
        sets: number of simulated data sets.
        method: "default", "laplace" or "mode"; "nuts" takes minutes.
    """
    target, readings = trial.target, trial.readings
    rng, truth = trial.rng(9), trial.draw_prior(sets, trial.seed)
    labels = trial.draw_labels(truth, rng)
    cases = [
        Case(
            Labelled(readings.logits, drawn, readings.covariates),
            seed=(trial.seed, 9, number),
            histogram=np.asarray(readings.histogram),
        )
        for number, drawn in enumerate(labels)
    ]
    ranks = []
    with doing("simulating", sets, "data sets") as stage:
        for start in range(0, sets, BLOCK):
            fits = fit_cases(target, cases[start : start + BLOCK], method=method)
            for number, (posterior, _) in enumerate(fits, start):
                order = rng.permutation(len(posterior.weights))
                with np.errstate(divide="ignore"):
                    weights = np.log(posterior.weights[order])
                chosen = posterior.draws[order[resample(rng.random(), weights, RANKS)]]
                points = np.vstack([truth[number], chosen])
                likelihood = over_draws(target.log_likelihood)(points, readings, labels[number])
                true, *others = np.column_stack([points, likelihood])
                below, ties = (np.sum(compare(others, true), 0) for compare in (np.less, np.equal))
                ranks.append((below + rng.random(len(true)) * (ties + 1)) / (RANKS + 1))
            stage.reach(len(ranks))
    return Ranks((*target.coordinates, "log likelihood"), np.array(ranks))


def check_simulation(ranks: Ranks) -> Finding:
    """Test whether ranks are uniform, each quantity's by two tests.

    Kolmogorov and Smirnov's ("ks") detects ranks that are too low or too high; the sum of squared
    normal scores ("spread") a posterior that is too narrow or too wide, which the first hardly
    does.

    Source: Cook, Gelman and Rubin (2006), J. Comp. Graph. Stat. 15, for the second.
    """
    below = chi2.cdf((norm.ppf(ranks.values) ** 2).sum(axis=0), len(ranks.values))
    tests = {
        "ks": np.array([kstest(values, "uniform").pvalue for values in ranks.values.T]),
        "spread": 2.0 * np.minimum(below, 1.0 - below),
    }
    p_values = np.stack(list(tests.values()))
    index = int(p_values.min(axis=0).argmin())
    worst, values = float(min(1.0, p_values.min() * p_values.size)), ranks.values[:, index]
    words = (
        f"{len(values)} data sets: the ranks of {ranks.names[index]} are the least uniform "
        f"(p {worst:.2g} after {p_values.size} tests; mean rank {values.mean():.2f}, normal scores "
        f"with a standard deviation of {norm.ppf(values).std():.2f})"
    )
    figures: dict[str, Any] = {"p": worst}
    for name, column in tests.items():
        figures[name] = dict(zip(ranks.names, column.tolist(), strict=True))
    return Finding("simulation-based calibration", verdict(worst), words, figures)
