"""How sure a difference of two methods is: the paired bootstrap over texts and label subsets."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from cordial_ppl.errors import InputError

CHUNK = 1 << 22
"""Most resampling weights that are held at a time."""


class Interval(NamedTuple):
    """A mean difference with its bootstrap interval, in the units of the scores.

    Args:
        mean: Mean difference over texts and subsets.
        lower: Lower end.
        upper: Upper end.
    """

    mean: float
    lower: float
    upper: float

    @property
    def resolved(self) -> bool:
        """Whether the interval excludes zero."""
        return self.lower > 0 or self.upper < 0


def paired_interval(
    differences: Float[np.ndarray, "subsets n"],
    *,
    level: float = 0.95,
    draws: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Bootstrap the mean difference of two methods' losses over texts and label subsets.

    As `paired_intervals`, for differences ``[S, n]`` of one method.
    """
    return paired_intervals(differences[None], level=level, draws=draws, seed=seed)[0]


def paired_intervals(
    differences: Float[np.ndarray, "methods subsets n"],
    *,
    level: float = 0.95,
    draws: int = 10_000,
    seed: int = 0,
) -> list[Interval]:
    """Bootstrap several methods' mean differences over texts and label subsets.

    A draw takes n texts and S subsets with replacement, independently, and averages
    `D[s, i] = loss of the one - loss of the other` over both:
    `sum_si a_s b_i D[s, i] / (S n)`, with a and b the times that each was taken. All methods share
    the draws, which are most of the work. The interval runs between the `(1 -+ level) / 2`
    quantiles of the draws (Efron and Tibshirani, 1993).

    Args:
        differences: Differences [M, S, n] of M methods, on S label subsets and n report texts.
        level: Share of the draws that lies inside, in (0, 1).
        draws: Number of bootstrap draws.
        seed: Seed of NumPy's generator.

    Returns:
        For each method its mean difference and the ends of its interval.

    Raises:
        InputError: a difference is not finite, there is none, or an option is out of range.
    """
    _, subsets, n = differences.shape
    if not differences.size or not np.isfinite(differences).all():
        raise InputError(
            "differences must be finite, for at least one subset and one text; got "
            f"{subsets} and {n} with {(~np.isfinite(differences)).sum()} not finite."
        )
    if not 0 < level < 1 or draws < 1:
        raise InputError(
            f"level must lie between 0 and 1 and draws be positive; got {level} and {draws}."
        )
    rng = np.random.default_rng(seed)
    chunk = max(1, CHUNK // n)
    means = np.concatenate(
        [
            _resampled_means(rng, differences, min(chunk, draws - done))
            for done in range(0, draws, chunk)
        ]
    )
    lower, upper = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    ends = zip(differences.mean(axis=(1, 2)), lower, upper, strict=True)
    return [Interval(*map(float, found)) for found in ends]


def _resampled_means(
    rng: np.random.Generator, differences: Float[np.ndarray, "methods subsets n"], draws: int
) -> Float[np.ndarray, "draws methods"]:
    """Means over resampled texts and subsets."""
    methods, subsets, n = differences.shape
    texts, rows = _times_taken(rng, draws, n), _times_taken(rng, draws, subsets)
    sums = (texts @ differences.reshape(-1, n).T).reshape(draws, methods, subsets)
    return (sums * rows[:, None, :]).sum(axis=2) / (subsets * n)


def _times_taken(
    rng: np.random.Generator, draws: int, size: int
) -> Float[np.ndarray, "draws size"]:
    """How often each of `size` things is among `size` draws with replacement."""
    taken = rng.integers(0, size, (draws, size)) + size * np.arange(draws)[:, None]
    counts = np.bincount(taken.ravel(), minlength=draws * size)
    return counts.reshape(draws, size).astype(float)
