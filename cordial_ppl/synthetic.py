"""Readings made from a known process: for the demonstration, the benchmarks and the tests.

A text has a quality; a person's label and a reader's impression are two noisy views of it, cut
into options at different places. Neither the cuts nor the saturated logits belong to the family
of channels that the package fits, so what works here was not given its own assumptions back.
"""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.errors import InputError


@dataclass(frozen=True)
class SyntheticReadings:
    """What a user has: a reader's logits, and the labels to learn from or to be scored on.

    Args:
        logits: The reader's unnormalised log-probabilities (nats), one row a text.
        labels: The option that a person chose for each text, 0..K-1.
        options: The names of the K options, lowest first.
    """

    logits: Float[np.ndarray, "n K"]
    labels: Int[np.ndarray, " n"]
    options: tuple[str, ...]


@dataclass(frozen=True)
class Raters:
    """People who label texts: an impression is quality plus noise, cut at fixed places.

    An impression is `u = (q + noise e) / sqrt(1 + noise^2)` with standard normal q and e, the
    label is the number of cuts below it. A stray label has nothing to do with its text.

    Args:
        options: Number of options, K.
        skew: Share of option k is proportional to `exp(skew (k / (K - 1))^2)`.
        noise: Standard deviation of a person's impression around the quality of the text.
        stray: Probability that an impression is drawn afresh, whatever the text.
    """

    options: int = 5
    skew: float = 2.8
    noise: float = 0.18
    stray: float = 0.04

    def cuts(self) -> Float[np.ndarray, " cuts"]:
        """Return the K - 1 places at which an impression passes into the next option."""
        weights = np.exp(self.skew * np.linspace(0, 1, self.options) ** 2)
        below = np.cumsum(weights)[:-1] / weights.sum()
        return np.array([NormalDist().inv_cdf(share) for share in below])

    def label(
        self, rng: np.random.Generator, quality: Float[np.ndarray, " n"]
    ) -> Int[np.ndarray, " n"]:
        """Label texts of a given quality, 0..K-1."""
        n = len(quality)
        impression = (quality + self.noise * rng.standard_normal(n)) / np.hypot(1, self.noise)
        stray = rng.random(n) < self.stray
        impression = np.where(stray, rng.standard_normal(n), impression)
        return np.searchsorted(self.cuts(), impression)


@dataclass(frozen=True)
class Reader:
    """A language model that reads the same texts: its own noise, its own cuts, far too sure.

    The reader's cut at share x of the scale is the raters' cut plus `severity sin(pi x)^(1/2)`:
    it is severe in the middle, less so towards the ends. An option loses `sharpness` nats for each
    standard deviation of quality by which the impression lies outside the option's interval, and
    every logit is jittered.

    Args:
        noise: Standard deviation of the reader's impression around the quality of the text.
        severity: Shift of the middle cuts; positive rates too low, negative too high.
        sharpness: Nats by which an option falls for one unit of distance.
        jitter: Standard deviation of the noise of a logit (nats).
    """

    noise: float = 0.18
    severity: float = 0.3
    sharpness: float = 22.0
    jitter: float = 1.0

    def read(
        self,
        rng: np.random.Generator,
        quality: Float[np.ndarray, " n"],
        cuts: Float[np.ndarray, " cuts"],
    ) -> Float[np.ndarray, "n K"]:
        """Read texts of a given quality, against the cuts that the raters use."""
        n, size = len(quality), len(cuts) + 1
        impression = (quality + self.noise * rng.standard_normal(n))[:, None]
        own = np.sort(cuts + self.severity * np.sqrt(np.sin(np.pi * np.arange(1, size) / size)))
        below = np.concatenate([[-np.inf], own]) - impression
        above = impression - np.concatenate([own, [np.inf]])
        outside = np.maximum(np.maximum(below, above), 0)
        return -self.sharpness * outside + self.jitter * rng.standard_normal((n, size))


def reviews(n: int = 2020, seed: int = 0, *, options: int = 5) -> SyntheticReadings:
    """Make reviews with a star rating, and the readings of a severe and over-confident reader.

    Quality is standard normal; `Raters` label it and a `Reader` reads it. With five stars, three
    in five reviews get all five; the reader is right about seven in ten, gives its choice 0.93
    on average, and is too low: where it says less than five, people give 0.6 to 0.7 more. Its log
    loss is about 1.5 nats, that of the label histogram about 1.1.

    Args:
        n: Number of texts, at least 1.
        seed: Seed of NumPy's generator; the same arguments give the same readings.
        options: Number of options K, at least 2, named '1'..'K'.

    Returns:
        The logits [n, K] in nats, the labels [n] as 0..K-1, and the names of the options.

    Raises:
        InputError: `n` or `options` is too small.
    """
    if n < 1 or options < 2:
        raise InputError(
            f"reviews need at least 1 text and 2 options; got n={n} and options={options}."
        )
    rng = np.random.default_rng(seed)
    raters = Raters(options)
    quality = rng.standard_normal(n)
    labels = raters.label(rng, quality)
    logits = Reader().read(rng, quality, raters.cuts())
    return SyntheticReadings(logits, labels, tuple(str(k + 1) for k in range(options)))
