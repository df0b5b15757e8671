"""The texts that a channel is checked with: given, or made up."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from cordial_ppl.channel import Channel
from cordial_ppl.compilation import compiled
from cordial_ppl.inference.data import Labelled
from cordial_ppl.inference.target import Target, build_target
from cordial_ppl.inference.tracing import find_covariates
from cordial_ppl.readings import Readings, as_logits, label_histogram
from cordial_ppl.synthetic import reviews

LABELS = 20
UNSEEN = 200
READERS = 3


class Texts(NamedTuple):
    """What a channel is checked with.

    Attributes:
        target: the channel, for the options of these texts.
        known: labelled texts.
        unseen: readings to predict.
        made_up: whether nobody gave them.
    """

    target: Target
    known: Labelled
    unseen: Readings
    made_up: bool

    @property
    def readings(self) -> Readings:
        """The readings of the labelled texts."""
        return Readings(self.known.logits, self.unseen.histogram, dict(self.known.covariates))

    def as_said(self, logits: Float[np.ndarray, "m K"]) -> Float[np.ndarray, "m *readers K"]:
        """Logits as the channel takes them: of several readers, all say the same."""
        readers = self.known.logits.shape[1:-1]
        return np.repeat(logits[:, None], *readers, axis=1) if readers else logits


def make_texts(channel: Channel, seed: int, size: int = 5, labels: int = LABELS) -> Texts:
    """Make up reviews, some of them with labels, and covariates if the channel has some."""
    count = labels + UNSEEN
    made = reviews(count, seed=seed, options=size)
    rng = np.random.default_rng(seed)
    ranges = {name: (low, high) for name, low, high in channel.examples}
    # Positive and about one, where the file does not say what a covariate is like.
    levels = dict(channel.levels)
    extra = {
        name: rng.integers(levels[name], size=count).astype(float)
        if name in levels
        else rng.uniform(*ranges[name], count)
        if name in ranges
        else rng.lognormal(0, 1, count)
        for name in find_covariates(channel, size)
    }
    logits = as_logits(made.logits)
    if channel.several:
        logits = _by_readers(logits, rng)
    known = {name: values[:labels] for name, values in extra.items()}
    data = Labelled(logits[:labels], made.labels[:labels], known)
    unseen = {name: values[labels:] for name, values in extra.items()}
    return as_texts(channel, data, logits[labels:], unseen, made_up=True)


def _by_readers(
    logits: Float[np.ndarray, "n K"], rng: np.random.Generator
) -> Float[np.ndarray, "n R K"]:
    """Three readers, the further the more they err; one has not read every text."""
    size = logits.shape[1]
    errors = rng.normal(0, 1, (len(logits), READERS, size)) * np.arange(READERS)[None, :, None]
    several = logits[:, None] + errors
    several -= several.mean(axis=2, keepdims=True)
    several[::5, -1] = np.nan
    return several


def as_texts(
    channel: Channel,
    known: Labelled,
    unseen: Float[np.ndarray, "m *readers K"],
    covariates: dict[str, np.ndarray],
    *,
    made_up: bool = False,
) -> Texts:
    """Put texts together; of those to predict, the first 200 are enough.

    Raises:
        InputError: the channel asks for a covariate that the texts do not have.
        ChannelError: the channel breaks the contract.
    """
    *readers, size = known.logits.shape[1:]
    with jax.enable_x64(True):
        target = build_target(channel, size, tuple(known.covariates), *readers)
    histogram = label_histogram(known.labels, size)
    extra = {name: values[:UNSEEN] for name, values in covariates.items()}
    return Texts(target, known, Readings(unseen[:UNSEEN], histogram, extra), made_up)


@lru_cache(maxsize=16)
def prior_draws(target: Target, count: int) -> Callable[..., Any]:
    """``Target.sample_prior`` of so many draws, compiled: a function of key, prior and readings."""
    return compiled(lambda key, prior, own: target.sample_prior(key, prior, own, count))
