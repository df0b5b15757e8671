"""Checks of the prior: the labels that it expects, conflict with labels, and sensitivity."""

from functools import lru_cache

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp

from cordial_ppl.evaluation.checks.finding import FAIL, PASS, WARN, Finding, verdict
from cordial_ppl.evaluation.checks.trial import Trial

DRAWS, SETS = 1000, 999
LEAST = 0.02
"""Prior predictive probability, times K, below which an option is all but excluded."""

USABLE = 0.99
"""Share of the prior under which predictions must be finite."""

SURE = 4.0
"""Logit of the option that a plain, fairly sure reading names, nats."""

SENSITIVE = 0.05
"""Sensitivity from which the prior, or the likelihood, matters (Kallioinen et al. 2024)."""


def check_prior_predictive(trial: Trial) -> Finding:
    """Look at the prior predictive of plain readings, one for each option.

    Every option must be possible, and a reading of the last must be predicted above one of the
    first.
    """
    name, size = "prior predictive", trial.target.options
    readings = trial.plain(SURE * (np.eye(size) - 1 / size))
    predictions = trial.predict(trial.draw_prior(DRAWS, trial.seed, readings), readings)
    usable = np.isfinite(predictions).all(axis=(1, 2))
    finite = float(usable.mean())
    if finite < USABLE:
        words = f"predictions are not finite for {100 * (1 - finite):.0f} % of draws from the prior"
        return Finding(name, FAIL, words, {"finite": finite})
    probs = predictions[usable].mean(axis=0)
    least, span = float(probs.min()), float((probs[-1] - probs[0]) @ np.arange(size))
    right = float(np.mean(np.diag(probs)))
    figures = {"least": least, "span": span, "agreement": right, "finite": finite}
    words = (
        f"a fairly sure reading is right with probability {right:.2f}; from the first option "
        f"to the last, labels rise by {span:.1f} of {size - 1} classes"
    )
    status, hint = PASS, ""
    if not span > 0:
        status, hint = FAIL, "labels fall as the reading rises: "
    elif least < LEAST / size:
        status, hint = WARN, f"an option has probability {least:.4f}: "
    elif span < 0.2 * (size - 1):
        status, hint = WARN, "labels hardly follow the reading: "
    return Finding(name, status, hint + words, figures)


@lru_cache(maxsize=1)
def check_conflict(trial: Trial) -> Finding:
    r"""Rank the evidence of the labels among those of labels simulated from the prior.

    .. math:: p = \Pr[ T(z') \le T(z) ], \qquad T(z) = \log \int p(z \mid \theta)\, p(\theta)\,
       d\theta, \qquad z' \sim \int p(z' \mid \theta)\, p(\theta)\, d\theta

    with the label histogram held fixed.  A prior that excludes what the labels say gives them less
    evidence than nearly all the labels that it expects, however narrow it is.

    Source: Box (1980), "Sampling and Bayes' inference in scientific modelling and robustness",
    J. R. Stat. Soc. A 143; Evans and Moshonov (2006), Bayesian Analysis 1.
    """
    labels, rng = np.asarray(trial.labelled.labels), trial.rng(11)
    draws = trial.draw_prior(DRAWS + SETS, int(rng.integers(2**31)))
    simulated = trial.draw_labels(draws[DRAWS:], rng)
    probs = trial.predict(draws[:DRAWS], trial.readings)
    evidence = _evidence(probs, np.vstack([labels[None], simulated]))
    p_value = float(np.mean(evidence[1:] <= evidence[0]) * SETS + 1) / (SETS + 1)
    loc, scale = trial.target.prior
    distances = (trial.posterior.weights @ trial.posterior.draws - loc) / scale
    index = int(np.abs(distances).argmax())
    name, distance = trial.target.coordinates[index], float(distances[index])
    words = (
        f"{100 * p_value:.3g} % of label sets drawn from the prior are as unlikely as these; "
        f"{name} is furthest from its prior's location, {distance:+.1f} standard deviations"
    )
    status = verdict(p_value)
    hint = "" if status == PASS else "prior and labels disagree: "
    return Finding("prior against labels", status, hint + words, {"p": p_value, name: distance})


def _evidence(
    probs: Float[np.ndarray, "S n K"], labels: Int[np.ndarray, "sets n"]
) -> Float[np.ndarray, " sets"]:
    """Compute the log evidence of label sets: the mean likelihood over draws from the prior."""
    logs = np.log(np.maximum(probs, 1e-300)).reshape(len(probs), -1)
    chosen = np.eye(probs.shape[2])[labels].reshape(len(labels), -1)
    return np.asarray(logsumexp(chosen @ logs.T, axis=1))


def check_sensitivity(trial: Trial) -> Finding:
    """Scale the prior and the likelihood by powers near one, and see what moves.

    A parameter that both move may be pulled in two directions; that deserves a warning where the
    labels are not such as the prior expects.

    Source: Kallioinen, Paananen, Buerkner and Vehtari (2024), "Detecting and diagnosing prior and
    likelihood sensitivity with power-scaling", Statistics and Computing 34; ArviZ computes it.
    """
    import arviz as az

    tree = trial.posterior.to_datatree(seed=trial.seed)
    # The probability of each label is one more quantity of every draw.
    likely = np.exp(tree["log_likelihood"]["label"])
    tree["posterior"] = tree["posterior"].assign(prediction=likely)
    try:
        with np.errstate(all="ignore"):
            sensitivity = {group: az.psense(tree, group=group) for group in ("prior", "likelihood")}
    except ValueError as error:
        return Finding("sensitivity", WARN, f"unknown, because draws hardly differ ({error})")
    figures = {
        name: {group: float(np.max(values[name])) for group, values in sensitivity.items()}
        for name in sensitivity["prior"].data_vars
    }
    moved = figures.pop("prediction")["prior"]
    led = [
        n for n, figure in figures.items() if figure["likelihood"] < SENSITIVE <= figure["prior"]
    ]
    torn = [name for name, figure in figures.items() if min(figure.values()) >= SENSITIVE]
    words = f"sensitivity of a label's probability to the prior: {moved:.2f} at most"
    words += f"; the labels say little about {', '.join(led)}" if led else ""
    words += f"; prior and labels both move {', '.join(torn)}" if torn else ""
    status = WARN if torn and check_conflict(trial).status != PASS else PASS
    return Finding("sensitivity", status, words, {"predictions": moved, **figures})
