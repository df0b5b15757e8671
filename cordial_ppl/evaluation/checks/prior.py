"""Checks of what the prior predicts: readings in their order, no conflict with the labels."""

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from cordial_ppl.evaluation.checks.finding import FAIL, PASS, WARN, Finding, verdict
from cordial_ppl.evaluation.checks.trial import Trial

DRAWS, SETS = 1000, 999
FEWER = 256
"""Draws among which a reversal is sought."""

SATURATED = 1e4
"""Logit of the one option of a reading that is saturated at any likely temperature, nats."""

TOLERANCE = 1e-6


def violation(
    lower: Float[np.ndarray, "... K"], higher: Float[np.ndarray, "... K"]
) -> Float[np.ndarray, "..."]:
    r"""Return how far two distributions are from first-order stochastic order, in probability.

    .. math:: \max_t \sum_{z \le t} [p_2(z) - p_1(z)]_+

    Args:
        lower: the distribution that should lie lower.
        higher: the distribution that should lie higher.
    """
    return np.asarray(np.maximum(np.cumsum(higher - lower, axis=-1)[..., :-1].max(axis=-1), 0.0))


def check_order(trial: Trial) -> Finding:
    """Search for neighbouring saturated readings that parameters from the prior reverse.

    The proposition promises their order of every channel of the paper.
    """
    name, rng, size = "order of saturated readings", trial.rng(5), trial.target.options
    histogram, ladder = rng.dirichlet(np.ones(size)), SATURATED * (np.eye(size) - 1 / size)
    low, high = (trial.plain(logits, histogram) for logits in (ladder[:-1], ladder[1:]))
    draws = trial.draw_prior(FEWER, int(rng.integers(2**31)), low)
    violations = violation(*(trial.predict(draws, rows) for rows in (low, high)))
    if undefined := float((~np.isfinite(violations)).mean()):
        words = f"predictions are not finite for {100 * undefined:.2g} % of draws and readings"
        # Within the contract's range "finite density" fails for that.
        return Finding(name, WARN, words, {"not_finite": undefined})
    draw, pair = np.unravel_index(violations.argmax(), violations.shape)
    worst, share = float(violations[draw, pair]), float((violations > TOLERANCE).any(axis=1).mean())
    figures: dict[str, object] = {"worst": worst, "share_of_draws": share}
    if worst <= TOLERANCE:
        words = f"kept for {size - 1} pairs of readings under {FEWER} draws from the prior"
        return Finding(name, PASS, words, figures)
    lower, higher = (logits[pair].round(1).tolist() for logits in (ladder[:-1], ladder[1:]))
    words = (
        f"reversed by up to {worst:.2g}, under {100 * share:.2g} % of draws from the prior: logits "
        f"{lower} are predicted above {higher}"
    )
    return Finding(name, FAIL, words, figures | {"lower": lower, "higher": higher})


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
    sets = np.vstack([labels[None], trial.draw_labels(draws[DRAWS:], rng)])
    probs = trial.predict(draws[:DRAWS], trial.readings)
    logs = np.log(np.maximum(probs, 1e-300)).reshape(DRAWS, -1)
    # The mean likelihood over draws from the prior, up to a constant.
    evidence = logsumexp(np.eye(probs.shape[2])[sets].reshape(len(sets), -1) @ logs.T, axis=1)
    p_value = float(np.mean(evidence[1:] <= evidence[0]) * SETS + 1) / (SETS + 1)
    loc, scale = trial.target.prior
    distances = (trial.fit().weights @ trial.fit().draws - loc) / scale
    index, status = int(np.abs(distances).argmax()), verdict(p_value)
    name, distance = trial.target.coordinates[index], float(distances[index])
    words = "" if status == PASS else "prior and labels disagree: "
    words += (
        f"{100 * p_value:.3g} % of label sets drawn from the prior are as unlikely as these; "
        f"{name} is furthest from its prior's location, {distance:+.1f} standard deviations"
    )
    return Finding("prior against labels", status, words, {"p": p_value, name: distance})
