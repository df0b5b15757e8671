"""Ordinal coherence: readings that are ordered must be predicted in that order (Proposition 1)."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from cordial_ppl.checks.finding import FAIL, PASS, WARN, Finding
from cordial_ppl.checks.texts import Texts
from cordial_ppl.compilation import compiled
from cordial_ppl.inference.target import Target
from cordial_ppl.readings import Readings

DRAWS, PAIRS = 256, 256
SATURATED = 1e4
"""Logit of the one option of a reading that stays saturated at every temperature, nats."""

TOLERANCE = 1e-6


def check_order(texts: Texts, rng: np.random.Generator) -> list[Finding]:
    """Search for ordered readings that some parameters predict in the wrong order.

    Parameters are drawn from the prior.  Saturated readings of neighbouring options must keep their
    order; two readings of which one has the higher likelihood ratio at every step, so that they are
    ordered at every temperature, should.
    """
    size = texts.target.options
    ladder = SATURATED * np.eye(size)
    low = rng.normal(0, 4, (PAIRS, size))
    steps = rng.exponential(2.0, low.shape) * rng.integers(0, 2, low.shape)
    high = low + np.cumsum(steps, axis=1)
    found = [
        _search(texts, rng, ladder[:-1], ladder[1:]),
        _search(texts, rng, low, high),
    ]
    (worst, share, pair), (other, other_share, other_pair) = found
    lines = []
    figures = {"worst": worst, "share_of_draws": share}
    if worst > TOLERANCE:
        words = (
            f"reversed by up to {worst:.2g}, under {100 * share:.0f} % of the prior: a reading of "
            f"option {pair + 1} is predicted below one of option {pair}"
        )
        lines.append(Finding("order of saturated readings", FAIL, words, figures))
    else:
        words = f"kept under {DRAWS} draws from the prior"
        lines.append(Finding("order of saturated readings", PASS, words, figures))
    figures = {"worst": other, "share_of_draws": other_share}
    if other > TOLERANCE:
        pairs = [np.round(own[other_pair] - own[other_pair].mean(), 1) for own in (low, high)]
        figures |= {"lower": pairs[0].tolist(), "higher": pairs[1].tolist()}
        words = (
            f"reversed by up to {other:.2g}, under {100 * other_share:.0f} % of the prior: "
            f"logits {_say(pairs[0])} against {_say(pairs[1])}"
        )
        lines.append(Finding("order of any readings", WARN, words, figures))
    else:
        words = f"kept by {PAIRS} pairs under {DRAWS} draws from the prior"
        lines.append(Finding("order of any readings", PASS, words, figures))
    return lines


def violation(
    lower: Float[np.ndarray, "... K"], higher: Float[np.ndarray, "... K"]
) -> Float[np.ndarray, "..."]:
    r"""How far two distributions are from first-order stochastic order, in probability.

    .. math:: \max_t \sum_{z \le t} [p_2(z) - p_1(z)]_+

    Args:
        lower: the distribution that should lie lower.
        higher: the distribution that should lie higher.
    """
    return np.asarray(np.maximum(np.cumsum(higher - lower, axis=-1)[..., :-1].max(axis=-1), 0.0))


def _search(
    texts: Texts, rng: np.random.Generator, low: np.ndarray, high: np.ndarray
) -> tuple[float, float, int]:
    """The worst violation, the share of draws that have one, and the worst pair."""
    target, size = texts.target, texts.target.options
    histogram = rng.dirichlet(np.ones(size))
    # Two texts that differ in their reading alone.
    extra = {k: np.resize(v, len(low)) for k, v in texts.known.covariates.items()}
    with jax.enable_x64(True):
        key = jax.random.key(int(rng.integers(2**31)))
        readings = [
            Readings(own - own.mean(axis=1, keepdims=True), histogram, extra) for own in (low, high)
        ]
        draws = target.sample_prior(key, target.prior, readings[0], DRAWS)
        lower, higher = (np.asarray(_probs(target)(draws, own)) for own in readings)
    found = violation(lower, higher)
    draw, pair = np.unravel_index(np.nanargmax(found), found.shape)
    return float(found[draw, pair]), float((found > TOLERANCE).any(axis=1).mean()), int(pair)


@lru_cache(maxsize=8)
def _probs(target: Target):
    return compiled(jax.vmap(lambda flat, own: target.probs(jnp.asarray(flat), own), (0, None)))


def _say(logits: np.ndarray) -> str:
    return "[" + ", ".join(f"{value:g}" for value in logits) + "]"
