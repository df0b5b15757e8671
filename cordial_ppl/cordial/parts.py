"""A member of an estimator, fitted to many subsets of labels in one batched call."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from cordial_ppl.arrays import CHUNK_ROWS, chunks, repeat_rows
from cordial_ppl.batching import at_once, mapped
from cordial_ppl.calibrators import CALIBRATORS
from cordial_ppl.channel import Channel
from cordial_ppl.cordial.members import fit_calibrator
from cordial_ppl.inference.batches import fit_batch
from cordial_ppl.inference.lanes import Lanes
from cordial_ppl.inference.posterior import Diagnostics, diagnose
from cordial_ppl.inference.problem import PREDICT_ELEMENTS, Cloud, in_precision, predict
from cordial_ppl.inference.state import Effort
from cordial_ppl.inference.target import Prior, Target, build_target
from cordial_ppl.priors import LearnedPrior, NamedPrior, Source, reading_spread, resolve
from cordial_ppl.readings import Readings

TYPICAL_OPTIONS = 8
WORKSPACES = 8
"""Arrays of the size of a block that a prediction holds at a time."""


class Texts(NamedTuple):
    """Readings of texts.

    Attributes:
        logits: centred logits, shape ``[m, K]``.
        covariates: per-text covariates, each of shape ``[m]``.
    """

    logits: Float[np.ndarray, "m K"]
    covariates: Mapping[str, np.ndarray] = {}

    def take(self, rows: Any) -> "Texts":
        """Some of the texts."""
        return Texts(self.logits[rows], {k: v[rows] for k, v in self.covariates.items()})


class PartFit(NamedTuple):
    """A member fitted to S subsets.

    Attributes:
        held_out: probabilities of each labelled text by a fit that has not seen it, padded.
        probs: probabilities of the report texts.
        diagnostics: of each subset's posterior; none for a calibrator.
    """

    held_out: Float[np.ndarray, "S rows K"]
    probs: Float[np.ndarray, "S m K"]
    diagnostics: Sequence[Diagnostics]


@dataclass(frozen=True, eq=False)
class CalibratorPart:
    """A logit-space calibrator.

    Attributes:
        name: which.
    """

    name: str

    @property
    def key(self) -> tuple:
        """The name says all."""
        return (self.name,)

    def fit(self, lanes: Lanes, seeds: Sequence[int], report: Texts) -> PartFit:
        """Fit to every subset, and predict the report texts."""
        del seeds
        count, rows = lanes.labels.shape[1:]
        size = lanes.logits.shape[2]
        with jax.enable_x64(True):
            fits = count * CALIBRATORS[self.name].fits
            each = at_once(8.0 * fits * rows * size * size)
            params, held_out = _calibrator_fitter(self.name, each)(None, lanes)
            probs = _predict(_calibrator_predictor(self.name), params, report, np.float64)
            return PartFit(np.asarray(held_out), probs, ())


@dataclass(frozen=True, eq=False)
class ChannelPart:
    """A channel.

    Attributes:
        channel: which.
        index: its place among the random numbers of its estimator.
        method: how its posterior is found.
        prior: what replaces its own, given or learned.
        effort: how much work the default does.
    """

    channel: Channel
    index: int
    method: str
    prior: Source
    effort: Effort

    @property
    def key(self) -> tuple:
        """A prior holds arrays, which are told apart by identity; a named one says what it is."""
        prior = self.prior.key if isinstance(self.prior, NamedPrior) else id(self.prior)
        return self.channel, self.index, self.method, prior, self.effort

    def fit(self, lanes: Lanes, seeds: Sequence[int], report: Texts) -> PartFit:
        """Fit to every subset, and predict the report texts."""
        with jax.enable_x64(True):
            target = build_target(self.channel, lanes.logits.shape[2], tuple(lanes.covariates))
            keys = _keys(np.asarray(seeds, np.uint32), np.uint32(self.index))
            prior = self._prior(target, lanes)
            if isinstance(self.prior, LearnedPrior):
                lanes = lanes.smoothed(self.prior.pseudo_counts(target.options))
            settings = {"method": self.method, "prior": prior, "effort": self.effort}
            fits = fit_batch(target, lanes, keys, **settings)
            clouds = jax.device_get(fits.cloud)
            single = [jax.tree.map(lambda leaf, s=s: leaf[s], clouds) for s in range(len(seeds))]
            fitted = in_precision((clouds, lanes.histograms[:, 0]))
            probs = _predict(_channel_predictor(target), fitted, report, np.float32)
            diagnostics = [diagnose(self.method, cloud) for cloud in single]
            return PartFit(np.asarray(fits.held_out), probs, diagnostics)

    def _prior(self, target: Target, lanes: Lanes) -> Prior | None:
        """The prior with a location for each subset, whose readings have a spread of their own."""
        labelled = np.asarray(lanes.labels[:, 0] >= 0)
        spreads = [
            reading_spread(own[rows]) for own, rows in zip(lanes.logits, labelled, strict=True)
        ]
        each = [resolve(self.prior, target, spread) for spread in spreads]
        known = [prior for prior in each if prior is not None]
        return Prior(np.stack([prior.loc for prior in known]), known[0].scale) if known else None


Part = CalibratorPart | ChannelPart
"""A member to fit; two with the same key are fitted alike."""


def _predict(
    predictor: Callable[..., Any], fitted: Any, report: Texts, kind: type[np.floating]
) -> Float[np.ndarray, "S m K"]:
    """Probabilities of the report texts by every fit, rows that sum to one."""
    parts = []
    for rows, size in chunks(len(report.logits)):
        texts = report.take(rows)
        count = len(texts.logits)
        padded = jax.tree.map(lambda leaf, n=size: repeat_rows(leaf.astype(kind), n), texts)
        parts.append(np.asarray(predictor(padded, fitted), np.float64)[:, :count])
    probs = np.concatenate(parts, axis=1)
    return probs / probs.sum(axis=2, keepdims=True)


@jax.jit
def _keys(seeds: jax.Array, index: jax.Array) -> jax.Array:
    """The random keys that single fits use."""
    return jax.vmap(lambda seed: jax.random.fold_in(jax.random.key(seed), index))(seeds)


@lru_cache(maxsize=256)
def _calibrator_fitter(name: str, size: int) -> Callable[..., Any]:
    return mapped(
        lambda _, lanes: jax.vmap(partial(fit_calibrator, CALIBRATORS[name]))(lanes), size
    )


@lru_cache(maxsize=256)
def _calibrator_predictor(name: str) -> Callable[..., Any]:
    def one(texts: Texts, params: Any) -> jax.Array:
        return jnp.exp(CALIBRATORS[name].log_probs(params, texts.logits))

    return mapped(jax.vmap(one, (None, 0)), at_once(8.0 * CHUNK_ROWS * TYPICAL_OPTIONS))


@lru_cache(maxsize=256)
def _channel_predictor(target: Target) -> Callable[..., Any]:
    def one(texts: Texts, fitted: tuple[Cloud, jax.Array]) -> jax.Array:
        cloud, histogram = fitted
        return predict(target, cloud, Readings(texts.logits, histogram, dict(texts.covariates)))

    return mapped(jax.vmap(one, (None, 0)), at_once(4.0 * WORKSPACES * PREDICT_ELEMENTS))
