"""A channel on trial: texts, a user's or synthetic, and what it makes of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.channels.channel import Channel, count_levels
from cordial_ppl.data.covariates import as_covariates
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.readings import Readings, as_logits, as_logits_of_readers, label_histogram
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, naming
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.inference.case import Case
from cordial_ppl.inference.export import draw_options, over_draws
from cordial_ppl.inference.fitting import fit_cases
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.target import Target, build_target
from cordial_ppl.inference.tracing import find_covariates

LABELS, UNSEEN = 20, 200
READERS = 3


@dataclass(frozen=True, eq=False)
class Trial:
    """A channel and the texts that it is checked with.

    Attributes:
        target: the channel's density, for the options of these texts.
        labelled: labelled texts.
        unseen: readings to predict.
        seed: seed of everything random.
    """

    target: Target
    labelled: Labelled
    unseen: Readings
    seed: int = 0

    @property
    def readings(self) -> Readings:
        """Return the readings of the labelled texts."""
        return Readings(self.labelled.logits, self.unseen.histogram, dict(self.labelled.covariates))

    def fit(self, method: str = "default") -> Posterior:
        """Fit the channel to the labelled texts; findings say what a warning would."""
        return _fit(self, method)

    def plain(self, logits: Float[np.ndarray, "m K"], histogram: Any = None) -> Readings:
        """Return readings with these logits, alike for every reader, with the covariates."""
        size = self.target.options
        extra = {k: np.resize(v, len(logits)) for k, v in self.labelled.covariates.items()}
        if readers := self.labelled.logits.shape[1:-1]:
            logits = np.repeat(logits[:, None], *readers, axis=1)
        return Readings(logits, np.full(size, 1 / size) if histogram is None else histogram, extra)

    def rng(self, stream: int) -> np.random.Generator:
        """Return the random numbers of a check."""
        return np.random.default_rng([self.seed, stream])

    def draw_prior(
        self, count: int, seed: int, readings: Readings | None = None
    ) -> Float[np.ndarray, "S P"]:
        """Draw unconstrained parameters from the channel's prior."""
        with jax.enable_x64(True):
            key, texts = jax.random.key(seed), readings or self.readings
            return np.asarray(self.target.sample_prior(key, self.target.prior, texts, count))

    def predict(
        self, draws: Float[np.ndarray, "S P"], readings: Readings
    ) -> Float[np.ndarray, "S n K"]:
        """Return each text's option probabilities under each draw, in 64 bits."""
        return np.asarray(over_draws(self.target.probs)(draws, readings))

    def draw_labels(
        self, draws: Float[np.ndarray, "S P"], rng: np.random.Generator
    ) -> Int[np.ndarray, "S n"]:
        """Draw a label for each labelled text under each draw."""
        return draw_options(self.predict(draws, self.readings), rng)


def make_trial(channel: Channel, seed: int, size: int = 5, labels: int = LABELS) -> Trial:
    """Simulate reviews, the first of them labelled, and covariates if the channel has some."""
    count = labels + UNSEEN
    logits, stars, _ = reviews(count, seed=seed, options=size)
    rng = np.random.default_rng(seed)
    ranges = {name: (low, high) for name, low, high in channel.examples}
    levels = count_levels(channel)
    extra = {}
    for name in find_covariates(channel, size):
        if name in levels:
            extra[name] = rng.integers(levels[name], size=count).astype(float)
        elif name in ranges:
            extra[name] = rng.uniform(*ranges[name], count)
        else:
            # Positive and about one, where the file does not say what a covariate is like.
            extra[name] = rng.lognormal(0, 1, count)
    if channel.several:
        # The further down the list, the more a reader errs; the last has not read every text.
        errors = rng.normal(0, 1, (count, READERS, size)) * np.arange(READERS)[None, :, None]
        logits = logits[:, None] + errors
        logits[::5, -1] = np.nan
    return take_trial(channel, logits, stars[:labels], extra, seed)


def take_trial(
    channel: Channel, logits: Any, labels: Any, covariates: Mapping[str, Any] | None, seed: int = 0
) -> Trial:
    """Validate texts: the first are labelled, the 200 after them (of none, all) to predict.

    Raises:
        InputError: the texts cannot be used, or lack a covariate that the channel asks for.
        ChannelError: the channel breaks the contract.
    """
    readings = as_logits_of_readers(logits) if channel.several else as_logits(logits)
    if labels is None:
        raise InputError("only one of logits and labels was passed. Pass both or neither.")
    size = readings.shape[-1]
    if len(codes := Scale.default(size).encode(labels)) > len(readings):
        raise InputError(f"got {len(readings)} rows of logits but {len(codes)} labels.")
    with naming(f"channel {channel.name!r}"):
        needed, levels = find_covariates(channel, size), count_levels(channel)
        extra = as_covariates(covariates, len(readings), needed, levels)
    target = build_target(channel, size, tuple(extra), *readings.shape[1:-1])
    others = len(readings) - len(codes)
    texts = Labelled(readings, np.pad(codes, (0, others), constant_values=-1), extra)
    unseen = texts.take(slice(len(codes), len(codes) + UNSEEN) if others else slice(UNSEEN))
    unlabelled = Readings(unseen.logits, label_histogram(codes, size), dict(unseen.covariates))
    return Trial(target, texts.take(slice(len(codes))), unlabelled, seed)


@lru_cache(maxsize=8)
def _fit(trial: Trial, method: str) -> Posterior:
    cases = [Case(trial.labelled, seed=(trial.seed,))]
    return fit_cases(trial.target, cases, method=method)[0].fitted
