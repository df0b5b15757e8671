"""The texts that a channel is checked with, given or synthetic, and what it predicts of them."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from cordial_ppl.channel import Channel
from cordial_ppl.compilation import compiled
from cordial_ppl.inference.data import Labelled
from cordial_ppl.inference.target import Target, build_target
from cordial_ppl.inference.tracing import find_covariates
from cordial_ppl.readings import Readings, as_logits, label_histogram
from cordial_ppl.synthetic import reviews

LABELS, UNSEEN = 20, 200
READERS = 3


class Texts(NamedTuple):
    """What a channel is checked with.

    Attributes:
        target: the channel's density, for the options of these texts.
        known: labelled texts.
        unseen: readings to predict.
        synthetic: whether readings and labels were simulated.
    """

    target: Target
    known: Labelled
    unseen: Readings
    synthetic: bool

    @property
    def readings(self) -> Readings:
        """The readings of the labelled texts."""
        return Readings(self.known.logits, self.unseen.histogram, dict(self.known.covariates))

    def plain(self, logits: Float[np.ndarray, "m K"], histogram: Any = None) -> Readings:
        """Readings with these logits, the same for every reader, and the covariates at hand."""
        size = self.target.options
        readers = self.known.logits.shape[1:-1]
        extra = {k: np.resize(v, len(logits)) for k, v in self.known.covariates.items()}
        if readers:
            logits = np.repeat(logits[:, None], *readers, axis=1)
        return Readings(logits, np.full(size, 1 / size) if histogram is None else histogram, extra)


def make_texts(channel: Channel, seed: int, size: int = 5, labels: int = LABELS) -> Texts:
    """Simulate reviews, the first of them labelled, and covariates if the channel has some."""
    count = labels + UNSEEN
    simulated = reviews(count, seed=seed, options=size)
    rng = np.random.default_rng(seed)
    ranges = {name: (low, high) for name, low, high in channel.examples}
    levels = dict(channel.levels)
    extra = {}
    for name in find_covariates(channel, size):
        if name in levels:
            extra[name] = rng.integers(levels[name], size=count).astype(float)
        elif name in ranges:
            extra[name] = rng.uniform(*ranges[name], count)
        else:
            # Positive and about one, where the file does not say what a covariate is like.
            extra[name] = rng.lognormal(0, 1, count)
    logits = as_logits(simulated.logits)
    if channel.several:
        # The further down the list, the more a reader errs; the last has not read every text.
        errors = rng.normal(0, 1, (count, READERS, size)) * np.arange(READERS)[None, :, None]
        logits = logits[:, None] + errors
        logits -= logits.mean(axis=2, keepdims=True)
        logits[::5, -1] = np.nan
    known = {name: values[:labels] for name, values in extra.items()}
    unseen = {name: values[labels:] for name, values in extra.items()}
    data = Labelled(logits[:labels], simulated.labels[:labels], known)
    return as_texts(channel, data, logits[labels:], unseen, synthetic=True)


def as_texts(
    channel: Channel,
    known: Labelled,
    unseen: Float[np.ndarray, "m *readers K"],
    covariates: dict[str, np.ndarray],
    *,
    synthetic: bool = False,
) -> Texts:
    """Put labelled and unseen texts together; of the unseen, the first 200.

    Raises:
        InputError: the channel asks for a covariate that the texts do not have.
        ChannelError: the channel breaks the contract.
    """
    *readers, size = known.logits.shape[1:]
    with jax.enable_x64(True):
        target = build_target(channel, size, tuple(known.covariates), *readers)
    extra = {name: values[:UNSEEN] for name, values in covariates.items()}
    readings = Readings(unseen[:UNSEEN], label_histogram(known.labels, size), extra)
    return Texts(target, known, readings, synthetic)


@lru_cache(maxsize=16)
def prior_draws(target: Target, count: int) -> Callable[..., Any]:
    """``Target.sample_prior`` of so many draws, compiled: a function of key, prior and readings."""
    return compiled(lambda key, prior, readings: target.sample_prior(key, prior, readings, count))


@lru_cache(maxsize=16)
def predictions(target: Target) -> Callable[..., Any]:
    """``Target.probs`` of many draws, compiled: a function of draws and readings."""
    return compiled(
        jax.vmap(lambda flat, readings: target.probs(jnp.asarray(flat), readings), (0, None))
    )
