"""Fitted judges on disk: a stack's posteriors, parameters, weights and settings as plain data.

A file never holds code.  A stack with a channel from a user's file stores the channel's name and
the digest of the file, and whoever loads it must name that same file again.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cordial_ppl import storage
from cordial_ppl.calibrators import CALIBRATORS
from cordial_ppl.channel import Channel
from cordial_ppl.channels import CHANNELS
from cordial_ppl.cordial.members import CalibratorFit
from cordial_ppl.cordial.stack import Cordial, ExpectedLoss, LogitStack, Stack
from cordial_ppl.errors import ChannelError, FileError, InputError, NotFittedError
from cordial_ppl.inference.posterior import Diagnostics, Posterior
from cordial_ppl.inference.target import Prior
from cordial_ppl.inference.tempering import Effort
from cordial_ppl.loading import load_channel
from cordial_ppl.scale import Scale

KIND = "judge"
KINDS: dict[str, type[Stack]] = {"Cordial": Cordial, "LogitStack": LogitStack}


def save(stack: Stack, path: str | Path) -> None:
    """Write a fitted stack to one file.

    Args:
        stack: a fitted ``Cordial`` or ``LogitStack``.
        path: the file to write, by convention ending in ``.cordial``.

    Raises:
        NotFittedError: the stack is not fitted.
        InputError: the stack is neither a ``Cordial`` nor a ``LogitStack`` but of another class.
        FileError: the file cannot be written.
    """
    if KINDS.get(type(stack).__name__) is not type(stack):
        raise InputError(
            f"only {' and '.join(KINDS)} can be saved; this is a {type(stack).__name__}."
        )
    if not hasattr(stack, "scale_"):
        raise NotFittedError("there is nothing to save: call fit(logits, labels) first.")
    arrays: dict[str, np.ndarray] = {}
    channels = {}
    for name, posterior in stack.posteriors_.items():
        for field in ("histogram", "draws", "weights"):
            arrays[f"channel.{name}.{field}"] = getattr(posterior, field)
        channels[name] = {
            "built_in": posterior.channel == CHANNELS.get(name),
            "digest": posterior.channel.digest,
            "diagnostics": _to_plain(posterior.diagnostics._asdict()),
            "covariates": list(posterior.covariates),
        }
    for name, prior in stack.prior.items():
        arrays[f"prior.{name}.loc"] = np.asarray(prior.loc, np.float64)
        arrays[f"prior.{name}.scale"] = np.asarray(prior.scale, np.float64)
    for name in stack.calibrators:
        fit: Any = stack._fits[name]
        for field, value in fit.params._asdict().items():
            arrays[f"calibrator.{name}.{field}"] = np.asarray(value)
    meta = {
        "estimator": type(stack).__name__,
        "options": list(stack.scale_.options),
        "named": stack.options is not None,
        "inference": stack.inference,
        "seed": stack.seed,
        "effort": stack.effort._asdict(),
        "priors": list(stack.prior),
        "weights": stack.weights_,
        "weight_counts": stack.weight_counts,
        "expected": _to_plain(stack.expected_._asdict()),
        "channels": channels,
        "calibrators": list(stack.calibrators),
    }
    storage.write(path, KIND, meta, arrays)


def load(path: str | Path, *, channels: Sequence[str | Path | Channel] = ()) -> Stack:
    """Read a fitted stack.

    Args:
        path: a file that ``save`` wrote.
        channels: the channel files that the stack was fitted with, if any; their code is run.

    Returns:
        The stack, ready to predict.

    Raises:
        FileError: the file cannot be read, is damaged, was changed, or is of a newer version.
        InputError: the stack has a channel of a user's file that ``channels`` does not give, or
            gives with other contents.
        ChannelError: a file in ``channels`` is no channel.
    """
    meta, arrays = storage.read(path, KIND)
    given = {channel.name: channel for channel in map(load_channel, channels)}
    try:
        absent = [
            name
            for name, entry in meta["channels"].items()
            if not entry["built_in"] and name not in given
        ]
        changed = [
            name
            for name, channel in given.items()
            if meta["channels"].get(name, {}).get("digest") not in (None, "", channel.digest)
        ]
        if not absent and not changed:
            return _restore(meta, arrays, given)
    except ChannelError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileError(
            f"{path} is damaged or was changed: {error!r}. Fit and save it again."
        ) from error
    if changed:
        raise InputError(
            f"the judge was fitted with another {changed[0]}.py than {given[changed[0]].source}: "
            "their contents differ. Name the file as it was, or fit the judge again."
        )
    raise InputError(
        f"the judge was fitted with the channel file {absent[0]}.py: name that file again, "
        f"channels=['{absent[0]}.py'] or --channel {absent[0]}.py (its code is run)."
    )


def _restore(
    meta: dict[str, Any], arrays: dict[str, np.ndarray], given: dict[str, Channel]
) -> Stack:
    scale = Scale(tuple(meta["options"]))
    found = {
        name: CHANNELS[name] if entry["built_in"] else given[name]
        for name, entry in meta["channels"].items()
    }
    posteriors = {}
    for name, channel in found.items():
        entry = meta["channels"][name]
        fields = {f: arrays.pop(f"channel.{name}.{f}") for f in ("histogram", "draws", "weights")}
        diagnostics = Diagnostics(**_from_plain(entry["diagnostics"]))
        covariates = tuple(entry["covariates"])
        posteriors[name] = Posterior(
            channel, **fields, diagnostics=diagnostics, covariates=covariates
        )
        _check_posterior(posteriors[name], scale.size)
    priors = {
        name: Prior(arrays.pop(f"prior.{name}.loc"), arrays.pop(f"prior.{name}.scale"))
        for name in meta["priors"]
    }
    for name, prior in priors.items():
        if not prior.loc.shape == prior.scale.shape == (posteriors[name].target.size,):
            raise ValueError(f"the prior of channel {name!r} has another number of parameters")
    stack = KINDS[meta["estimator"]].__new__(KINDS[meta["estimator"]])
    Stack.__init__(
        stack,
        scale.options if meta["named"] else None,
        channels=tuple(found.values()),
        calibrators=tuple(meta["calibrators"]),
        inference=meta["inference"],
        prior=priors,
        weight_counts=meta["weight_counts"],
        seed=meta["seed"],
        effort=Effort(**meta["effort"]),
    )
    fits: dict[str, Any] = dict(posteriors)
    for name in stack.calibrators:
        prefix = f"calibrator.{name}."
        fields = {
            key.removeprefix(prefix): arrays.pop(key)
            for key in list(arrays)
            if key.startswith(prefix)
        }
        fits[name] = CalibratorFit(CALIBRATORS[name], CALIBRATORS[name].params(**fields))
        if fits[name].predict_centred(np.zeros((1, scale.size))).shape != (1, scale.size):
            raise ValueError(f"calibrator {name!r} is for another number of options")
    if arrays:
        raise ValueError(f"unexpected arrays {sorted(arrays)}")
    weights = {name: float(meta["weights"][name]) for name in stack.members}
    if min(weights.values()) < 0 or not math.isclose(sum(weights.values()), 1, abs_tol=1e-6):
        raise ValueError("the weights do not sum to one")
    stack._fits, stack.posteriors_, stack.weights_ = fits, posteriors, weights
    stack.expected_ = ExpectedLoss(**_from_plain(meta["expected"]))
    stack.scale_ = scale
    names = {name for posterior in posteriors.values() for name in posterior.covariates}
    stack._covariate_names = tuple(sorted(names))
    return stack


def _check_posterior(posterior: Posterior, size: int) -> None:
    name, (draws, count) = posterior.channel.name, posterior.draws.shape
    if posterior.histogram.shape != (size,) or posterior.weights.shape != (draws,):
        raise ValueError(f"the arrays of channel {name!r} do not fit together")
    if count != posterior.target.size:
        raise ValueError(f"channel {name!r} has {posterior.target.size} parameters, not {count}")
    for share in (posterior.weights, posterior.histogram):
        if share.min() < 0 or not math.isclose(share.sum(), 1, abs_tol=1e-6):
            raise ValueError(f"weights or histogram of channel {name!r} do not sum to one")


def _to_plain(fields: dict[str, Any]) -> dict[str, Any]:
    """Replace the numbers that JSON does not have by None."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in fields.items()
    }


def _from_plain(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: float("nan") if value is None else value for key, value in fields.items()}
