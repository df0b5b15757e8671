"""Checks that posteriors are right: beside NUTS on the same density, and by simulation.

Simulation-based calibration draws parameters from the prior and labels from them: if the posterior
of these labels is right, the rank of the true parameter among its draws is uniform (Talts,
Betancourt, Simpson, Vehtari and Gelman 2018, arXiv 1804.06788).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import chi2, kstest, norm

from cordial_ppl.data.labelled import Labelled
from cordial_ppl.evaluation.checks.finding import FAIL, PASS, WARN, Finding, verdict
from cordial_ppl.evaluation.checks.trial import Trial
from cordial_ppl.inference.case import Case
from cordial_ppl.inference.export import over_draws
from cordial_ppl.inference.fitting import fit_cases
from cordial_ppl.inference.importance import resample
from cordial_ppl.inference.programs import PACE, SLOW
from cordial_ppl.runtime.progress import doing

RMS_LIMIT, LITERAL_RMS = 0.02, 0.05
"""Root mean square error of predicted probabilities, of the default and of the literal method."""

MEAN_LIMIT = 0.3
"""Distance of posterior means in posterior standard deviations, besides NUTS' error."""

RANKS = 100
"""Draws among which a true value is ranked."""


def check_diagnostics(trial: Trial) -> Finding:
    """Look at the default posterior's own diagnostics."""
    diagnostics = trial.fit().diagnostics
    words = f"k-hat {diagnostics.khat:.2f}, effective sample size {diagnostics.ess:.0f}"
    figures = {"khat": diagnostics.khat, "ess": diagnostics.ess, "trusted": diagnostics.trusted}
    return Finding("diagnostics", PASS if diagnostics.trusted else WARN, words, figures)


def check_speed(trial: Trial) -> Finding | None:
    """Compare the time that the density took in the default's moves, if any, with the mixture's."""
    trial.fit()
    if (ratio := trial.target.pace / PACE) == np.inf:
        return None
    words = f"takes {float(f'{ratio:.1g}'):g} times as long as the mixture per text and option"
    return Finding("speed", WARN if ratio > SLOW else PASS, words, {"ratio": ratio})


def check_nuts(trial: Trial) -> Finding:
    """Look at the chains of NUTS, which the other posteriors are compared with."""
    nuts, draws = trial.fit("nuts").diagnostics, len(trial.fit("nuts").draws)
    status = PASS if nuts.trusted else WARN
    words = f"effective sample size {nuts.ess:.0f}, {nuts.divergences} divergences"
    if nuts.divergences > draws / 2:
        status, words = FAIL, f"{nuts.divergences} of {draws} transitions diverge"
    elif not nuts.ess > 0:
        words = "the NUTS chains disagree, so no comparison is possible"
    return Finding("NUTS", status, words, {"ess": nuts.ess, "divergences": nuts.divergences})


def check_against_nuts(trial: Trial, method: str) -> Finding | None:
    """Compare the posterior of a method with NUTS, unless its chains failed."""
    reference, unseen = trial.fit("nuts"), trial.unseen
    nuts, draws = reference.diagnostics, reference.draws
    if nuts.divergences > len(draws) / 2 or not nuts.ess > 0:
        return None
    posterior = trial.fit(method)
    distances = np.abs(posterior.weights @ posterior.draws - draws.mean(axis=0)) / draws.std(axis=0)
    means, coordinate = distances.max(), trial.target.coordinates[int(distances.argmax())]
    both = posterior, reference
    one, other = (each.predict(unseen.logits, unseen.covariates)[0] for each in both)
    rms, worst = np.sqrt(((one - other) ** 2).mean()), np.abs(one - other).max()
    trusted = posterior.diagnostics.trusted
    words = (
        f"predictions differ by {rms:.4f} (root mean square; {worst:.3f} at worst), means by "
        f"{means:.2f} standard deviations ({coordinate})"
    )
    figures = {"means": float(means), "rms": float(rms), "worst": float(worst), "trusted": trusted}
    close = rms <= RMS_LIMIT and means - 2.0 / np.sqrt(nuts.ess) <= MEAN_LIMIT
    status = PASS if (rms <= LITERAL_RMS if method == "laplace" else close) else WARN
    # Otherwise the posterior's diagnostics have warned the user already.
    status = FAIL if method != "laplace" and trusted and rms > RMS_LIMIT else status
    return Finding(f"{method} against NUTS", status, words, figures)


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
        method: "default", "laplace" or "mode"; "nuts" is slow.
    """
    target, readings = trial.target, trial.readings
    rng, truth = trial.rng(9), trial.draw_prior(sets, trial.seed)
    histogram, ranks = np.asarray(readings.histogram), []
    with doing("simulating", sets, "data sets") as stage:
        for number, drawn in enumerate(trial.draw_labels(truth, rng)):
            texts = Labelled(readings.logits, drawn, readings.covariates)
            case = Case(texts, seed=(trial.seed, 9, number), histogram=histogram)
            posterior = fit_cases(target, [case], method=method)[0].fitted
            order = rng.permutation(len(posterior.weights))
            with np.errstate(divide="ignore"):
                weights = np.log(posterior.weights[order])
            chosen = posterior.draws[order[resample(rng.random(), weights, RANKS)]]
            points = np.vstack([truth[number], chosen])
            likelihood = over_draws(target.log_likelihood)(points, readings, drawn)
            true, *others = np.column_stack([points, likelihood])
            below, ties = (np.sum(compare(others, true), 0) for compare in (np.less, np.equal))
            ranks.append((below + rng.random(len(true)) * (ties + 1)) / (RANKS + 1))
            stage.reach(number + 1)
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
        f"(p = {worst:.2g} corrected for {p_values.size} tests; mean rank {values.mean():.2f}, "
        f"standard deviation of the normal scores {norm.ppf(values).std():.2f})"
    )
    each = {n: dict(zip(ranks.names, p.tolist(), strict=True)) for n, p in tests.items()}
    return Finding("simulation-based calibration", verdict(worst), words, {"p": worst, **each})
