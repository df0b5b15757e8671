"""Reviews with a star rating and one reader: for the demonstration, the documents and the tests."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.errors import InputError
from cordial_ppl.synthetic.people import Raters, Reader


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
