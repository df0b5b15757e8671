"""Simulation-based calibration: parameters from the prior, labels from them, and back again.

If the posterior is right, the rank of the true parameter among the posterior's draws is uniform
(Talts, Betancourt, Simpson, Vehtari and Gelman 2018, arXiv 1804.06788).
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.stats import chi2, kstest, norm

from cordial_ppl.checks.finding import FAIL, PASS, WARN, Finding
from cordial_ppl.checks.texts import Texts, prior_draws
from cordial_ppl.compilation import compiled
from cordial_ppl.inference.data import Labelled
from cordial_ppl.inference.fit import Case, fit_cases
from cordial_ppl.inference.target import Target
from cordial_ppl.readings import Readings

RANKS = 100
"""Draws that a true value is ranked among."""

BLOCK = 20
"""Data sets that are fitted between two reports of how far it is."""

DOUBTFUL, WRONG = 0.05, 0.005
"""p-values, multiplied by the number of tests, below which ranks are not uniform."""


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
        squares = (norm.ppf(self.values) ** 2).sum(axis=0)
        below = chi2.cdf(squares, len(self.values))
        return {
            "ks": np.array([kstest(own, "uniform").pvalue for own in self.values.T]),
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
        keys = jax.random.split(jax.random.key(seed), 3)
        truth = prior_draws(target, sets)(keys[0], target.prior, readings)
        labels = np.asarray(_label(target)(truth, readings, jax.random.split(keys[1], sets)))
    cases = [
        Case(
            Labelled(readings.logits, own, readings.covariates),
            seed=(seed, 9, number),
            histogram=np.asarray(readings.histogram),
        )
        for number, own in enumerate(labels)
    ]
    found = []
    for start in range(0, sets, BLOCK):
        some = range(start, min(start + BLOCK, sets))
        fits = fit_cases(target, [cases[number] for number in some], method=method)
        for number, fit in zip(some, fits, strict=True):
            chosen = _thin(fit.fitted.draws, fit.fitted.weights, rng)
            points = np.vstack([np.asarray(truth[number])[None], chosen])
            with jax.enable_x64(True):
                likelihood = np.asarray(_likelihood(target)(points, readings, labels[number]))
            both = np.column_stack([points, likelihood])
            found.append(_rank(both[0], both[1:], rng))
        progress(some.stop / sets)
    return Ranks((*target.coordinates, "log likelihood"), np.array(found))


def check_simulation(ranks: Ranks) -> Finding:
    """Judge whether ranks are uniform."""
    names, tests = ranks.names, ranks.p_values
    test = min(tests, key=lambda name: tests[name].min())
    place = int(tests[test].argmin())
    count = len(names) * len(tests)
    worst = float(min(1.0, tests[test][place] * count))
    own = ranks.values[:, place]
    words = (
        f"{len(own)} data sets: least uniform is the rank of {names[place]} "
        f"(p {worst:.2g} after {count} tests; mean rank {own.mean():.2f}, normal scores with a "
        f"standard deviation of {norm.ppf(own).std():.2f})"
    )
    figures: dict[str, Any] = {"p": worst}
    figures |= {
        name: {of: float(p) for of, p in zip(names, values, strict=True)}
        for name, values in tests.items()
    }
    status = FAIL if worst < WRONG else WARN if worst < DOUBTFUL else PASS
    return Finding("simulation-based calibration", status, words, figures)


def _thin(
    draws: Float[np.ndarray, "S P"], weights: Float[np.ndarray, " S"], rng: np.random.Generator
) -> Float[np.ndarray, "ranks P"]:
    """As many draws as ranks are counted in, taken with their weights."""
    comb = (np.arange(RANKS) + rng.random()) / RANKS
    order = rng.permutation(len(weights))
    total = np.cumsum(weights[order])
    index = np.minimum(np.searchsorted(total, comb * total[-1]), len(order) - 1)
    return draws[order[index]]


def _rank(
    truth: Float[np.ndarray, " Q"], draws: Float[np.ndarray, "ranks Q"], rng: np.random.Generator
) -> Float[np.ndarray, " Q"]:
    below = (draws < truth).sum(axis=0)
    ties = (draws == truth).sum(axis=0)
    return (below + rng.random(len(truth)) * (ties + 1)) / (len(draws) + 1)


@lru_cache(maxsize=8)
def _label(target: Target) -> Callable[..., Int[Array, "S n"]]:
    def one(flat: Array, readings: Readings, key: Array) -> Array:
        probs = target.probs(flat, readings)
        return jax.random.categorical(key, jnp.log(probs), axis=1)

    return compiled(jax.vmap(one, (0, None, 0)))


@lru_cache(maxsize=8)
def _likelihood(target: Target) -> Callable[..., Float[Array, " S"]]:
    return compiled(jax.vmap(target.log_likelihood, (0, None, None)))
