"""The members of a stack: what a channel and a logit-space calibrator have in common.

A member is fitted to all labels and, in the same call, to every fold of them; it keeps the fit to
all labels and returns what the folds' fits say of the texts that they have not seen.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from cordial_ppl.arrays import chunks, pad_rows
from cordial_ppl.calibrators import CALIBRATORS, Calibrator
from cordial_ppl.channel import Channel
from cordial_ppl.compilation import compiled
from cordial_ppl.errors import CordialWarning
from cordial_ppl.inference.fit import as_posterior, fit_lanes
from cordial_ppl.inference.lanes import Lanes
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.state import Effort
from cordial_ppl.inference.target import Prior, Target, build_target


@runtime_checkable
class Fitted(Protocol):
    """A fitted member."""

    def predict_centred(
        self, logits: np.ndarray, covariates: dict[str, np.ndarray], *, dtype: str
    ) -> np.ndarray:
        """Probabilities of validated, centred readings."""
        ...


@dataclass(frozen=True, eq=False)
class CalibratorFit:
    """A fitted logit-space calibrator.

    Attributes:
        calibrator: which one.
        params: its parameters, a NamedTuple of arrays.
    """

    calibrator: Calibrator
    params: Any

    def predict_centred(
        self,
        logits: Float[np.ndarray, "m *readers K"],
        covariates: dict[str, np.ndarray] | None = None,
        *,
        dtype: str = "float64",
    ) -> Float[np.ndarray, "m K"]:
        """Probabilities of validated, centred readings."""
        del covariates, dtype
        with jax.enable_x64(True):
            run, parts = _predictor(self.calibrator.name), []
            for rows, size in chunks(len(logits)):
                chunk = logits[rows]
                parts.append((run(self.params, pad_rows(chunk, size, 0.0)), len(chunk)))
            probs = np.concatenate([np.asarray(part)[:count] for part, count in parts])
        return probs / probs.sum(axis=1, keepdims=True)


def fit_calibrators(
    names: tuple[str, ...], lanes: Lanes
) -> dict[str, tuple[CalibratorFit, Float[np.ndarray, "n K"]]]:
    """Fit several logit-space calibrators to every lane in one call.

    Args:
        names: which ones.
        lanes: the data.

    Returns:
        For each name the fit to the first lane and the held-out probabilities of each text.
    """
    with jax.enable_x64(True):
        params, held_out = jax.device_get(_calibrator_fitter(names)(lanes))
    return {
        name: (CalibratorFit(CALIBRATORS[name], params[name]), held_out[name]) for name in names
    }


def fit_channel_member(
    channel: Channel,
    lanes: Lanes,
    seed: tuple[int, int],
    method: str,
    prior: Prior | None,
    effort: Effort,
    family: tuple[Target, ...] = (),
) -> tuple[Posterior, Float[np.ndarray, "n K"]]:
    """Fit a channel to every lane.

    Args:
        channel: the channel.
        lanes: the data.
        seed: the estimator's seed, and a number of the member's own: members must not share their
            random numbers, or their errors correlate.
        method: name of the inference method.
        prior: location and scale that replace the channel's own.
        effort: how much work the default method does.
        family: targets that the default method is compiled for together; by default this alone.

    Returns:
        The posterior of the first lane and the held-out probabilities of each text.
    """
    with jax.enable_x64(True):
        *readers, size = lanes.logits.shape[1:]
        target = build_target(channel, size, tuple(lanes.covariates), *readers)
        key = jax.random.fold_in(jax.random.key(seed[0]), seed[1])
        settings: dict[str, Any] = {"method": method, "prior": prior, "effort": effort}
        fit = fit_lanes(target, lanes, key, **settings, family=family)
        cloud, held_out = jax.device_get((fit.cloud, fit.held_out))
        return as_posterior(channel, method, cloud, lanes, prior), held_out


def warn_if_doubtful(posterior: Posterior) -> None:
    """Warn of a posterior that is meant to be exact and is not; the paper's own only reports."""
    found = posterior.diagnostics
    if found.method in ("default", "nuts") and not found.trusted:
        if found.method == "nuts":
            figures, other = f"ESS {found.ess:.0f}, {found.divergences} divergences", "default"
        else:
            figures, other = f"k-hat {found.khat:.2f}, ESS {found.ess:.0f}", "nuts"
        warnings.warn(
            f"the posterior of channel {posterior.channel.name!r} is not reliable ({figures}); "
            f"compare with inference={other!r}.",
            CordialWarning,
            stacklevel=4,
        )


def fit_calibrator(calibrator: Calibrator, lanes: Lanes) -> tuple[Any, Float[Array, "n K"]]:
    """Fit a logit-space calibrator to every lane; a pure function, to be compiled.

    Args:
        calibrator: which one.
        lanes: the data.

    Returns:
        The parameters of the first lane, and the held-out probabilities of each text.
    """
    params = jax.vmap(calibrator.fit, (None, 0))(lanes.logits, lanes.labels)
    probs = jnp.exp(jax.vmap(calibrator.log_probs, (0, None))(params, lanes.logits))
    first = jax.tree.map(lambda leaf: leaf[0], params)
    return first, probs[lanes.lane, jnp.arange(lanes.logits.shape[0])]


@lru_cache(maxsize=64)
def _calibrator_fitter(names: tuple[str, ...]) -> Callable[[Lanes], Any]:
    def run(lanes: Lanes) -> tuple[dict[str, Any], dict[str, Array]]:
        fits = {name: fit_calibrator(CALIBRATORS[name], lanes) for name in names}
        return {k: fit[0] for k, fit in fits.items()}, {k: fit[1] for k, fit in fits.items()}

    return compiled(run)


@lru_cache(maxsize=64)
def _predictor(name: str) -> Callable[..., Array]:
    return compiled(lambda params, logits: jnp.exp(CALIBRATORS[name].log_probs(params, logits)))
