"""Made-up reviews: people who label texts, and a reader with thresholds on a text's quality.

A label and a reading are two noisy views of a text's quality, cut into options at different places.
Neither the cuts nor the saturated logits belong to the channels that the package fits: what works
here was not given the package's assumptions back.
"""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.errors import InputError

Numbers = Float[np.ndarray, " n"]
Cuts = Float[np.ndarray, " cuts"]


class Raters(NamedTuple):
    """People who label texts: quality plus noise, cut at fixed thresholds.

    An impression is `u = (q + o + noise e) / sqrt(1 + offset^2 + noise^2)` with standard normal q
    and e and the person's offset `o ~ N(0, offset^2)`; the label is the number of cuts below
    the impression. A stray label is unrelated to its text.

    Attributes:
        options: number of options, K.
        skew: share of option k is proportional to `exp(skew (k / (K - 1) - centre)^2)`: positive
            for ratings that pile up at the ends, negative for ratings around the centre.
        noise: standard deviation of a person's impression around the quality of the text.
        stray: probability that an impression is drawn afresh, whatever the text.
        centre: the position on the scale, from 0 to 1, where options are rarest (or most common).
        offset: standard deviation of people's offsets.
    """

    options: int = 5
    skew: float = 2.8
    noise: float = 0.18
    stray: float = 0.04
    centre: float = 0.0
    offset: float = 0.0

    def cuts(self) -> Cuts:
        """Return the K - 1 places at which an impression passes into the next option."""
        weights = np.exp(self.skew * (np.linspace(0, 1, self.options) - self.centre) ** 2)
        below = np.cumsum(weights)[:-1] / weights.sum()
        return np.array([NormalDist().inv_cdf(share) for share in below])

    def label(
        self, rng: np.random.Generator, quality: Numbers, offsets: Numbers | float = 0.0
    ) -> Int[np.ndarray, " n"]:
        """Label texts of a given quality, 0..K-1, each by a person with a given offset."""
        n = len(quality)
        spread = np.hypot(np.hypot(1, self.noise), self.offset)
        impression = (quality + offsets + self.noise * rng.standard_normal(n)) / spread
        impression = np.where(rng.random(n) < self.stray, rng.standard_normal(n), impression)
        return np.searchsorted(self.cuts(), impression)


class Reader(NamedTuple):
    """A language model that rates the same texts, with noise, other thresholds and over-confidence.

    The reader's cut t of 1..K-1 is `stretch` times the raters' cut, plus
    `severity sin(pi t / K)^(1/2)`, severe in the middle and less so towards the ends, plus
    `favour (-1)^t`. If the impression lies outside an option's interval, the option loses
    `sharpness` nats for each standard deviation of quality of the distance. With a `ceiling`, the
    loss f becomes `ceiling tanh(f / ceiling)`. Every logit is jittered.

    Attributes:
        noise: standard deviation of the reader's impression around the quality of the text.
        severity: shift of the middle cuts; if positive, ratings are too low; if negative, too high.
        sharpness: nats that an option loses for one unit of distance.
        jitter: standard deviation of the noise of a logit (nats).
        stretch: factor on the cuts; below one the reader exaggerates, above one it avoids the ends.
        favour: widens every second option, from the second on, at its neighbours' expense.
        ceiling: the most nats that an option can lose.
    """

    noise: float = 0.18
    severity: float = 0.3
    sharpness: float = 22.0
    jitter: float = 1.0
    stretch: float = 1.0
    favour: float = 0.0
    ceiling: float = np.inf

    def read(
        self, rng: np.random.Generator, quality: Numbers, cuts: Cuts
    ) -> Float[np.ndarray, "n K"]:
        """Read texts of a given quality, against the cuts that the raters use."""
        n, size = len(quality), len(cuts) + 1
        t = np.arange(1, size)
        severity = self.severity * np.sqrt(np.sin(np.pi * t / size))
        places = np.sort(self.stretch * cuts + severity + self.favour * (-1.0) ** t)
        impression = (quality + self.noise * rng.standard_normal(n))[:, None]
        below = np.concatenate([[-np.inf], places]) - impression
        above = impression - np.concatenate([places, [np.inf]])
        fall = self.sharpness * np.maximum(np.maximum(below, above), 0)
        if np.isfinite(self.ceiling):
            fall = self.ceiling * np.tanh(fall / self.ceiling)
        return -fall + self.jitter * rng.standard_normal((n, size))


class SyntheticReadings(NamedTuple):
    """A reader's logits, and the labels to learn from or to be scored on.

    Attributes:
        logits: the reader's unnormalised log-probabilities (nats), one row per text.
        labels: the option that a person chose for each text, 0..K-1.
        options: the names of the K options, lowest first.
    """

    logits: Float[np.ndarray, "n K"]
    labels: Int[np.ndarray, " n"]
    options: tuple[str, ...]


def reviews(n: int = 2020, seed: int = 0, *, options: int = 5) -> SyntheticReadings:
    """Generate reviews with star ratings, and the readings of a severe and over-confident judge.

    Quality is standard normal; `Raters` label it, and a `Reader` rates it. Most reviews get five
    stars. The reader is over-confident and rates too low: when it gives fewer than five stars,
    people tend to give more.

    Args:
        n: number of texts, at least 1.
        seed: seed of NumPy's generator; the same arguments give the same readings.
        options: number of options K, at least 2, named '1'..'K'.

    Returns:
        The logits [n, K] in nats, the labels [n] as 0..K-1, and the names of the options.

    Raises:
        InputError: `n` or `options` is too small.
    """
    if n < 1 or options < 2:
        raise InputError(
            f"reviews need at least 1 text and 2 options; got n={n} and options={options}."
        )
    rng, raters = np.random.default_rng(seed), Raters(options)
    quality = rng.standard_normal(n)
    labels = raters.label(rng, quality)
    logits = Reader().read(rng, quality, raters.cuts())
    return SyntheticReadings(logits, labels, tuple(str(k + 1) for k in range(options)))
