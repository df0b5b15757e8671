r"""Whether the labels are such as the prior expects (Box's prior predictive check)."""

import jax
import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp

from cordial_ppl.checks.finding import PASS, Finding, status
from cordial_ppl.checks.texts import Texts, predictions, prior_draws
from cordial_ppl.inference.export import draw_options
from cordial_ppl.inference.posterior import Posterior

SETS, DRAWS = 999, 1000


def check_conflict(texts: Texts, posterior: Posterior, seed: int) -> Finding:
    r"""Rank the evidence of the labels among those of labels simulated from the prior.

    .. math:: p = \Pr[ T(z') \le T(z) ], \qquad T(z) = \log \int p(z \mid \theta)\, p(\theta)\,
       d\theta, \qquad z' \sim \int p(z' \mid \theta)\, p(\theta)\, d\theta

    with the label histogram held fixed.  A prior that excludes what the labels say gives them less
    evidence than nearly all the labels that it expects, however narrow it is.

    Source: Box (1980), "Sampling and Bayes' inference in scientific modelling and robustness",
    J. R. Stat. Soc. A 143; Evans and Moshonov (2006), Bayesian Analysis 1.
    """
    target, labels = texts.target, np.asarray(texts.known.labels)
    prior = target.prior if posterior.prior is None else posterior.prior
    rng = np.random.default_rng([seed, 11])
    with jax.enable_x64(True):
        key = jax.random.key(int(rng.integers(2**31)))
        draws = prior_draws(target, DRAWS + SETS)(key, prior, texts.readings)
        probs = np.asarray(predictions(target)(draws, texts.readings))
    simulated = draw_options(probs[DRAWS:], rng)
    evidence = _evidence(probs[:DRAWS], np.vstack([labels[None], simulated]))
    p_value = float(np.mean(evidence[1:] <= evidence[0]) * SETS + 1) / (SETS + 1)
    loc, scale = prior
    distances = (posterior.weights @ posterior.draws - loc) / scale
    place = int(np.abs(distances).argmax())
    name, distance = target.coordinates[place], float(distances[place])
    words = (
        f"{100 * p_value:.3g} % of label sets simulated from the prior are as unlikely under it "
        f"as these; furthest is {name}, {distance:+.1f} prior deviations from its prior location"
    )
    verdict = status(p_value)
    hint = "" if verdict == PASS else "prior and labels disagree: "
    return Finding("prior against labels", verdict, hint + words, {"p": p_value, name: distance})


def _evidence(
    probs: Float[np.ndarray, "S n K"], labels: Int[np.ndarray, "sets n"]
) -> Float[np.ndarray, " sets"]:
    """Log evidence of label sets: the mean likelihood over draws from the prior."""
    count, size = probs.shape[1:]
    logs = np.log(np.maximum(probs, 1e-300)).reshape(len(probs), -1)
    chosen = np.zeros((len(labels), count * size))
    chosen[np.arange(len(labels))[:, None], np.arange(count) * size + labels] = 1.0
    return np.asarray(logsumexp(chosen @ logs.T, axis=1))
