r"""Whether the labels are such as the prior expects (Box's prior predictive check)."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp

from cordial_ppl.checks.finding import FAIL, PASS, WARN, Finding
from cordial_ppl.checks.texts import Texts, prior_draws
from cordial_ppl.compilation import compiled
from cordial_ppl.inference.export import draw_options
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.target import Target

SETS, DRAWS = 999, 1000
DOUBTFUL, WRONG = 0.05, 0.005
"""p-values below which prior and labels disagree."""


def check_conflict(texts: Texts, posterior: Posterior, seed: int) -> Finding:
    r"""Rank the evidence of the labels among those of labels that the prior makes.

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
        draws = prior_draws(target, DRAWS + SETS)(
            jax.random.key(int(rng.integers(2**31))), prior, texts.readings
        )
        logs = np.asarray(_log_probs(target)(draws, texts.readings))
    made = draw_options(np.exp(logs[DRAWS:]), rng)
    evidence = _evidence(logs[:DRAWS], np.vstack([labels[None], made]))
    p_value = float(np.mean(evidence[1:] <= evidence[0]) * SETS + 1) / (SETS + 1)
    loc, scale = prior
    off = (posterior.weights @ posterior.draws - loc) / scale
    place = int(np.abs(off).argmax())
    name, distance = target.coordinates[place], float(off[place])
    words = (
        f"of label sets that the prior makes, {100 * p_value:.3g} % are as unlikely under it as "
        f"these; furthest is {name}, {distance:+.1f} prior deviations from where the prior has it"
    )
    status = FAIL if p_value < WRONG else WARN if p_value < DOUBTFUL else PASS
    hint = "" if status == PASS else "prior and labels disagree: "
    return Finding("prior against labels", status, hint + words, {"p": p_value, name: distance})


def _evidence(
    logs: Float[np.ndarray, "S n K"], labels: Int[np.ndarray, "sets n"]
) -> Float[np.ndarray, " sets"]:
    """Log evidence of label sets: the mean likelihood over draws from the prior."""
    count, size = logs.shape[1:]
    chosen = np.zeros((len(labels), count * size))
    chosen[np.arange(len(labels))[:, None], np.arange(count) * size + labels] = 1.0
    return np.asarray(logsumexp(chosen @ logs.reshape(len(logs), -1).T, axis=1))


@lru_cache(maxsize=8)
def _log_probs(target: Target):
    return compiled(
        jax.vmap(
            lambda flat, readings: jnp.log(jnp.maximum(target.probs(flat, readings), 1e-300)),
            (0, None),
        )
    )
