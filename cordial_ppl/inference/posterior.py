"""What a fit leaves behind: weighted draws, their named parameters, and what they are worth."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from cordial_ppl.arrays import bucket, pad_rows
from cordial_ppl.channel import Channel
from cordial_ppl.compilation import compiled
from cordial_ppl.inference.importance import KHAT_LIMIT
from cordial_ppl.inference.problem import Cloud, predict
from cordial_ppl.inference.target import Target, build_target
from cordial_ppl.readings import Readings, as_logits

PREDICT_ROWS = 4096
LEAST_ESS = 50.0
LEAST_ACCEPTANCE = 0.02


class Diagnostics(NamedTuple):
    """How a posterior was found and whether it can be believed; NaN where a figure has no meaning.

    Attributes:
        method: "default", "laplace", "mode" or "nuts".
        khat: Pareto shape of the importance weights: above 0.7 they are not reliable.
        ess: effective sample size of the importance weights, or of the NUTS draws.
        acceptance: acceptance rate of the last moves.
        gradient_norm: largest component of the gradient at the mode, in prior-whitened coordinates.
        repairs: how often the draws were moved and weighed again.
        trusted: whether all figures are within their limits.
    """

    method: str
    khat: float
    ess: float
    acceptance: float
    gradient_norm: float
    repairs: int
    trusted: bool


def diagnose(method: str, cloud: Cloud) -> Diagnostics:
    """Judge a cloud of draws.

    Draws are trusted with k-hat at most 0.7, an effective sample size of at least 50, moves of
    which at least 2 % are accepted, and a gradient below 1e-4 at the mode; a figure that a method
    does not have is not held against it.  ``inference="mode"``
    is judged by its gradient alone: trusted says that it is a mode, not that one point is enough.
    """
    khat, ess, acceptance, gradient = (
        float(figure) for figure in (cloud.khat, cloud.ess, cloud.acceptance, cloud.gradient_norm)
    )
    poor = khat > KHAT_LIMIT or acceptance < LEAST_ACCEPTANCE or gradient > 1e-4
    poor = poor or (method != "mode" and not ess >= LEAST_ESS)
    return Diagnostics(method, khat, ess, acceptance, gradient, int(cloud.repairs), not poor)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Posterior of one channel.

    Attributes:
        channel: the channel.
        histogram: smoothed label histogram that the channel falls back on, shape ``[K]``.
        draws: unconstrained parameters, shape ``[S, P]``.
        weights: weights of the draws, which sum to one, shape ``[S]``.
        diagnostics: how the draws were found and whether they can be believed.
        covariates: names of the covariates that the channel was fitted with.
    """

    channel: Channel
    histogram: Float[np.ndarray, " K"]
    draws: Float[np.ndarray, "S P"]
    weights: Float[np.ndarray, " S"]
    diagnostics: Diagnostics
    covariates: tuple[str, ...] = ()

    @cached_property
    def target(self) -> Target:
        """The channel's density, which knows the names of the parameters."""
        return build_target(self.channel, len(self.histogram), self.covariates)

    def parameters(self) -> dict[str, np.ndarray]:
        """Draws of the named parameters in their own units, each of shape ``[S, ...]``."""
        with jax.enable_x64(True):
            named = _named(self.target)(jnp.asarray(self.draws))
        # A compiled function sorts the names; the model's own order says more.
        return {site.parameter: np.asarray(named[site.parameter]) for site in self.target.sites}

    def mean(self) -> dict[str, np.ndarray]:
        """Posterior mean of each parameter in its own units."""
        return {
            name: np.tensordot(self.weights, value, axes=1)
            for name, value in self.parameters().items()
        }

    def quantile(self, level: float) -> dict[str, np.ndarray]:
        """Weighted quantile of each parameter in its own units.

        Args:
            level: between 0 and 1.
        """
        return {
            name: np.quantile(value, level, axis=0, weights=self.weights, method="inverted_cdf")
            for name, value in self.parameters().items()
        }

    def predict_proba(
        self, logits, covariates: dict[str, np.ndarray] | None = None, *, dtype: str = "float64"
    ) -> Float[np.ndarray, "m K"]:
        """Posterior predictive probabilities of texts.

        Args:
            logits: option logits, shape ``[m, K]``.
            covariates: per-text covariates of the channels that use them, each of shape ``[m]``.
            dtype: precision of the sums over draws; "float32" is three times as fast.

        Returns:
            Probabilities, shape ``[m, K]``, float64 rows that sum to one.

        Raises:
            InputError: the logits are not an ``[m, K]`` array of usable numbers.
        """
        readings = as_logits(logits, size=len(self.histogram))
        return self.predict_centred(readings, covariates or {}, dtype=dtype)

    def predict_centred(
        self,
        logits: Float[np.ndarray, "m K"],
        covariates: dict[str, np.ndarray],
        *,
        dtype: str = "float64",
    ) -> Float[np.ndarray, "m K"]:
        """Predict for logits that are already validated and centred."""
        with jax.enable_x64(True):
            run, kind = _predictor(self.target), jnp.dtype(dtype)
            logs = np.log(np.maximum(self.weights, np.finfo(kind).tiny))
            nothing = np.zeros((), kind)
            arrays = (self.draws.astype(kind), logs.astype(kind))
            cloud = Cloud(*arrays, nothing, nothing, nothing, nothing, np.zeros((), np.int32))
            histogram = self.histogram.astype(kind)
            parts = []
            for start in range(0, len(logits), PREDICT_ROWS):
                rows = slice(start, start + PREDICT_ROWS)
                chunk = logits[rows]
                size = min(bucket(len(chunk)), PREDICT_ROWS)
                extra = {
                    name: pad_rows(np.asarray(value)[rows].astype(kind), size, 0.0)
                    for name, value in covariates.items()
                }
                readings = Readings(pad_rows(chunk.astype(kind), size, 0.0), histogram, extra)
                parts.append((run(cloud, readings), len(chunk)))
            probs = np.concatenate([np.asarray(p, np.float64)[:count] for p, count in parts])
        return probs / probs.sum(axis=1, keepdims=True)


@lru_cache(maxsize=256)
def _predictor(target: Target):
    return compiled(lambda cloud, readings: predict(target, cloud, readings))


@lru_cache(maxsize=256)
def _named(target: Target):
    return compiled(jax.vmap(target.parameters))
