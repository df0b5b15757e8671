"""Fitted judges on disk: the state of a stack, and how a file holds it as plain data.

A file never holds code.  A stack with a channel from a user's file stores the channel's name and
the digest of the file, and whoever loads it must name that same file again.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from cordial_ppl import storage
from cordial_ppl.calibrators import CALIBRATORS
from cordial_ppl.channel import Channel
from cordial_ppl.channels import CHANNELS
from cordial_ppl.cordial.members import CalibratorFit
from cordial_ppl.cordial.weighing import ExpectedLoss
from cordial_ppl.errors import ChannelError, FileError, InputError, quote
from cordial_ppl.inference.posterior import Diagnostics, Posterior
from cordial_ppl.inference.sampler import Effort
from cordial_ppl.inference.target import Prior
from cordial_ppl.loading import load_channel
from cordial_ppl.scale import Scale

KIND = "judge"
FIELDS = ("histogram", "draws", "weights")
"""Arrays of a posterior."""

SHARES = "shares"
"""One more, which the first files lack: all draws of theirs predict."""


class State(NamedTuple):
    """All that a fitted stack consists of.

    Attributes:
        kind: name of its class.
        scale: the scale.
        settings: arguments that a stack is made with.
        posteriors: posterior of each channel by name.
        calibrators: fitted logit-space calibrators by name.
        weights: weight of each member by name.
        expected: out-of-fold log losses.
        covariates: names of the covariates that predictions need.
        losses: out-of-fold log loss of each member by itself, if there were folds.
        provenance: how the readings were made, as far as it is known.
        seen: fingerprints of the texts of the fit, as far as they are known.
        counts: labels of the fit by option, as far as they are known.
    """

    kind: str
    scale: Scale
    settings: dict[str, Any]
    posteriors: dict[str, Posterior]
    calibrators: dict[str, CalibratorFit]
    weights: dict[str, float]
    expected: ExpectedLoss
    covariates: tuple[str, ...]
    losses: dict[str, float]
    provenance: dict[str, list[str]] = {}
    seen: np.ndarray = np.zeros(0, np.int64)
    counts: np.ndarray = np.zeros(0, np.int64)


def write(path: str | Path, state: State) -> None:
    """Write the state of a fitted stack to one file.

    Raises:
        FileError: the file cannot be written.
    """
    storage.write(path, KIND, *pack(state))


def pack(state: State) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The state of a fitted stack as plain settings and arrays by name."""
    settings, channels = state.settings, {}
    arrays: dict[str, np.ndarray] = {}
    for name, posterior in state.posteriors.items():
        channels[name], own = pack_posterior(posterior)
        arrays |= {f"channel.{name}.{field}": array for field, array in own.items()}
    for name, prior in settings["prior"].items():
        arrays[f"prior.{name}.loc"] = np.asarray(prior.loc, np.float64)
        arrays[f"prior.{name}.scale"] = np.asarray(prior.scale, np.float64)
    for name, fit in state.calibrators.items():
        for field, value in fit.params._asdict().items():
            arrays[f"calibrator.{name}.{field}"] = np.asarray(value)
    arrays |= {"seen": state.seen, "counts": state.counts}
    meta = {
        "estimator": state.kind,
        "options": list(state.scale.options),
        "named": settings["options"] is not None,
        "inference": settings["inference"],
        "seed": settings["seed"],
        "covariates": list(state.covariates),
        "effort": settings["effort"]._asdict(),
        "priors": list(settings["prior"]),
        "default_prior": settings["default_prior"],
        "weights": state.weights,
        "weight_counts": settings["weight_counts"],
        "expected": to_plain(state.expected._asdict()),
        "losses": state.losses,
        "provenance": state.provenance,
        "channels": channels,
        "calibrators": list(state.calibrators),
        "all_calibrators": list(settings["calibrators"]),
        "min_labels": settings["min_labels"],
    }
    return meta, arrays


def pack_posterior(posterior: Posterior) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A posterior as plain settings and arrays by name."""
    settings = {
        "built_in": posterior.channel == CHANNELS.get(posterior.channel.name),
        "digest": posterior.channel.digest,
        "diagnostics": to_plain(posterior.diagnostics._asdict()),
        "covariates": list(posterior.covariates),
    }
    arrays = {field: getattr(posterior, field) for field in FIELDS}
    return settings, arrays | {SHARES: posterior.shares}


def read(path: str | Path, channels: Sequence[str | Path | Channel] = ()) -> State:
    """Read the state of a fitted stack.

    Args:
        path: a file that ``write`` wrote.
        channels: the channel files that the stack was fitted with, if any; their code is run.

    Raises:
        FileError: the file cannot be read, is damaged, was changed, or is of a newer version.
        InputError: the stack has a channel of a user's file that ``channels`` does not give, or
            gives with other contents.
        ChannelError: a file in ``channels`` is no channel.
    """
    return unpack(path, *storage.read(path, KIND), channels)


def unpack(
    path: str | Path,
    meta: dict[str, Any],
    arrays: dict[str, np.ndarray],
    channels: Sequence[str | Path | Channel] = (),
) -> State:
    """Make the state of a stack of what `pack` made of it; see `read`."""
    given = {channel.name: channel for channel in map(load_channel, channels)}
    with blaming(path):
        entries = meta["channels"].items()
        asked = [(name, entry["built_in"], entry["digest"]) for name, entry in entries]
    for name, built_in, digest in asked:
        if name in given and digest not in ("", given[name].digest):
            raise InputError(
                f"the judge was fitted with another {name}.py than {given[name].source}: "
                "their contents differ. Name the file as it was, or fit the judge again."
            )
        if name not in given and not built_in:
            raise InputError(
                f"the judge was fitted with the channel file {name}.py: name that file again, "
                f"channels=['{name}.py'] or --channel {name}.py (its code is run)."
            )
    with blaming(path):
        return _restore(meta, arrays, given)


@contextmanager
def blaming(path: str | Path) -> Iterator[None]:
    """Blame the file for contents that do not fit together."""
    try:
        yield
    except ChannelError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise FileError(
            f"{path} is damaged or was changed: {error!r:.200}. Fit and save it again."
        ) from error


def _restore(
    meta: dict[str, Any], arrays: dict[str, np.ndarray], given: dict[str, Channel]
) -> State:
    scale = Scale(tuple(meta["options"]))
    found = {
        name: CHANNELS[name] if entry["built_in"] else given[name]
        for name, entry in meta["channels"].items()
    }
    posteriors = {}
    for name, channel in found.items():
        own = take_arrays(arrays, f"channel.{name}.")
        posteriors[name] = unpack_posterior(channel, meta["channels"][name], own, scale.size)
    priors = {
        name: Prior(arrays.pop(f"prior.{name}.loc"), arrays.pop(f"prior.{name}.scale"))
        for name in meta["priors"]
    }
    for name, prior in priors.items():
        if not prior.loc.shape == prior.scale.shape == (posteriors[name].target.size,):
            raise ValueError(f"the prior of channel {name!r} has another number of parameters")
        posteriors[name] = replace(posteriors[name], prior=prior)
    calibrators = {}
    for name in meta["calibrators"]:
        prefix = f"calibrator.{name}."
        fields = {
            key.removeprefix(prefix): arrays.pop(key)
            for key in list(arrays)
            if key.startswith(prefix)
        }
        fit = CalibratorFit(CALIBRATORS[name], CALIBRATORS[name].params(**fields))
        probs = fit.predict_centred(np.zeros((1, scale.size)))
        if probs.shape != (1, scale.size) or not np.isfinite(probs).all():
            raise ValueError(f"calibrator {name!r} is for other options, or for none")
        calibrators[name] = fit
    seen, counts = (arrays.pop(name, np.zeros(0, np.int64)) for name in ("seen", "counts"))
    if any(own.ndim != 1 or own.dtype != np.int64 for own in (seen, counts)):
        raise ValueError("the fingerprints or the counts of labels are no list of whole numbers")
    expected = as_figures(ExpectedLoss, meta["expected"])
    if counts.size and (
        len(counts) != scale.size or counts.min() < 0 or counts.sum() != expected.labels
    ):
        raise ValueError("the counts of labels are not those of the fit")
    if arrays:
        raise ValueError(f"unexpected arrays {sorted(arrays)}")
    weights = {name: float(meta["weights"][name]) for name in (*posteriors, *calibrators)}
    if min(weights.values()) < 0 or not math.isclose(sum(weights.values()), 1, abs_tol=1e-6):
        raise ValueError("the weights do not sum to one")
    settings = {
        "options": scale.options if meta["named"] else None,
        "channels": tuple(found.values()),
        "calibrators": tuple(meta.get("all_calibrators", meta["calibrators"])),
        "min_labels": meta.get("min_labels", {}),
        "inference": meta["inference"],
        "prior": priors,
        "default_prior": bool(meta.get("default_prior", False)),
        "weight_counts": meta["weight_counts"],
        "seed": meta["seed"],
        "effort": Effort(**meta["effort"]),
    }
    used = {name for posterior in posteriors.values() for name in posterior.covariates}
    return State(
        kind=meta["estimator"],
        scale=scale,
        settings=settings,
        posteriors=posteriors,
        calibrators=calibrators,
        weights=weights,
        expected=expected,
        covariates=tuple(map(str, meta.get("covariates", sorted(used)))),
        losses={str(name): float(loss) for name, loss in meta.get("losses", {}).items()},
        provenance={
            str(name): [str(value) for value in values]
            for name, values in meta.get("provenance", {}).items()
        },
        seen=seen,
        counts=counts,
    )


def take_arrays(arrays: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Take the arrays of a posterior from those of a file."""
    found = {field: arrays.pop(prefix + field) for field in FIELDS}
    return found | {"predicting": arrays.pop(prefix + SHARES, None)}


def unpack_posterior(
    channel: Channel,
    settings: dict[str, Any],
    arrays: dict[str, Any],
    size: int,
    readers: int | None = None,
) -> Posterior:
    """Make a posterior of what `pack_posterior` made of it, and check that its parts fit.

    Raises:
        ValueError: they do not.
    """
    posterior = Posterior(
        channel,
        **arrays,
        diagnostics=as_figures(Diagnostics, settings["diagnostics"]),
        covariates=tuple(map(str, settings["covariates"])),
        readers=readers,
    )
    _check_posterior(posterior, size)
    return posterior


def _check_posterior(posterior: Posterior, size: int) -> None:
    name, (draws, count) = posterior.channel.name, posterior.draws.shape
    if posterior.histogram.shape != (size,) or posterior.weights.shape != (draws,):
        raise ValueError(f"the arrays of channel {name!r} do not fit together")
    if any(
        array.dtype.kind != "f" for array in (posterior.draws, posterior.weights, posterior.shares)
    ):
        raise ValueError(f"the arrays of channel {name!r} are of another type")
    # Predictions are made in single precision.
    if np.abs(posterior.draws).max(initial=0.0) > np.finfo(np.float32).max:
        raise ValueError(f"the draws of channel {name!r} are too large")
    if count != posterior.target.size:
        raise ValueError(f"channel {name!r} has {posterior.target.size} parameters, not {count}")
    if posterior.shares.shape != (draws,):
        raise ValueError(f"the arrays of channel {name!r} do not fit together")
    for share in (posterior.weights, posterior.histogram, posterior.shares):
        if share.min() < 0 or not math.isclose(share.sum(), 1, abs_tol=1e-6):
            raise ValueError(f"weights or histogram of channel {name!r} do not sum to one")


def to_plain(fields: dict[str, Any]) -> dict[str, Any]:
    """Replace the numbers that JSON does not have by None."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in fields.items()
    }


def as_figures[F: tuple](kind: type[F], fields: dict[str, Any]) -> F:
    """Make figures of what `to_plain` made of them, with NaN where one was not finite.

    Raises:
        TypeError, ValueError: they are others, or of another type.
    """
    hints = get_type_hints(kind)
    found = {}
    for name, value in fields.items():
        hint = hints[name]
        if hint is float:
            value = math.nan if value is None else value
            value = float(value) if isinstance(value, int | float) else value
        if not isinstance(value, hint):
            raise TypeError(f"{name} is {quote(value)}")
        found[name] = value
    return kind(**found)
