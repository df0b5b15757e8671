"""Fitted judges on disk: a stack as plain data, and back.

A file never holds code.  A stack with a channel from a user's file stores the channel's name and
the digest of the file, and whoever loads it must name that same file again.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import numpy as np

from cordial_ppl.calibrators import CALIBRATORS
from cordial_ppl.channel import Channel
from cordial_ppl.channels import CHANNELS
from cordial_ppl.cordial.members import CalibratorFit, Fitted
from cordial_ppl.cordial.weighing import ExpectedLoss
from cordial_ppl.errors import ChannelError, FileError, InputError, quote
from cordial_ppl.inference.posterior import Diagnostics, Posterior
from cordial_ppl.inference.sampler import Effort
from cordial_ppl.inference.target import Prior
from cordial_ppl.loading import load_channel
from cordial_ppl.priors import Priors
from cordial_ppl.scale import Scale

if TYPE_CHECKING:
    from cordial_ppl.cordial.stack import Stack

KIND = "judge"
SETTINGS = "inference", "weight_counts", "seed", "min_labels"
LEARNED = "covariates", "weights", "losses", "provenance"
"""What a file has as it is: settings, and what was learned, of which the attributes end in "_"."""


Contents = tuple[str, dict[str, Any], dict[str, Any]]
"""What a file holds of a fitted stack: the name of its class, settings, and learned attributes."""


def pack(stack: "Stack") -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A fitted stack as plain settings and arrays by name."""
    arrays = {"seen": stack.seen_, "counts": stack.label_counts_}
    channels = {}
    for name, posterior in stack.posteriors_.items():
        channels[name], own = pack_posterior(posterior)
        arrays |= under(f"channel.{name}.", own)
    priors = {name: own.prior for name, own in stack.posteriors_.items() if own.prior is not None}
    for name, prior in priors.items():
        arrays |= under(f"prior.{name}.", prior._asdict(), np.float64)
    calibrators = {n: fit for n, fit in stack.fits_.items() if isinstance(fit, CalibratorFit)}
    for name, fit in calibrators.items():
        arrays |= under(f"calibrator.{name}.", fit.params._asdict())
    settings = stack.settings
    meta = {name: getattr(settings, name) for name in SETTINGS}
    meta |= {name: getattr(stack, f"{name}_") for name in LEARNED}
    meta |= {
        "estimator": type(stack).__name__,
        "options": list(stack.scale_.options),
        "named": stack.options is not None,
        "effort": settings.effort._asdict(),
        "priors": list(priors),
        "default_prior": stack.has_default_prior,
        "expected": to_plain(stack.expected_._asdict()),
        "channels": channels,
        "calibrators": list(calibrators),
        "all_calibrators": list(settings.calibrators),
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
    names = "histogram", "draws", "weights", "shares"
    return settings, {name: getattr(posterior, name) for name in names}


def unpack(
    path: str | Path,
    meta: dict[str, Any],
    arrays: dict[str, np.ndarray],
    channels: Sequence[str | Path | Channel] = (),
) -> Contents:
    """Read what `pack` made of a stack.

    Args:
        path: the file, for messages.
        meta: its settings.
        arrays: its arrays by name.
        channels: the channel files that the stack was fitted with, if any; their code is run.

    Raises:
        FileError: the contents do not fit together.
        InputError: the stack has a channel of a user's file that ``channels`` does not give, or
            gives with other contents.
        ChannelError: a file in ``channels`` is no channel.
    """
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
        found = {name: CHANNELS[name] if built_in else given[name] for name, built_in, _ in asked}
        return _unpack(meta, arrays, found)


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


def _unpack(
    meta: dict[str, Any], arrays: dict[str, np.ndarray], channels: dict[str, Channel]
) -> Contents:
    scale = Scale(tuple(meta["options"]))
    priors = {name: Prior(**take(arrays, f"prior.{name}.")) for name in meta["priors"]}
    fits: dict[str, Fitted] = {}
    for name, channel in channels.items():
        own = take(arrays, f"channel.{name}.") | {"prior": priors.get(name)}
        fits[name] = unpack_posterior(channel, meta["channels"][name], own, scale.size)
    for name in meta["calibrators"]:
        params = CALIBRATORS[name].params(**take(arrays, f"calibrator.{name}."))
        fits[name] = fit = CalibratorFit(CALIBRATORS[name], params)
        probs = fit.predict_centred(np.zeros((1, scale.size)))
        if probs.shape != (1, scale.size) or not np.isfinite(probs).all():
            raise ValueError(f"calibrator {name!r} is for other options, or for none")
    seen, counts = (arrays.pop(name, np.zeros(0, np.int64)) for name in ("seen", "counts"))
    if any(own.ndim != 1 or own.dtype != np.int64 for own in (seen, counts)):
        raise ValueError("the fingerprints or the counts of labels are no list of whole numbers")
    expected = as_figures(ExpectedLoss, meta["expected"])
    if counts.size and (
        len(counts) != scale.size or counts.min() < 0 or counts.sum() != expected.labels
    ):
        raise ValueError("the counts of labels are not those of the fit")
    if arrays or not priors.keys() <= channels.keys():
        raise ValueError(f"unexpected arrays {sorted(arrays)}, or priors of no channel")
    weights = {name: float(meta["weights"][name]) for name in fits}
    _check_shares("the weights", np.array(list(weights.values())))
    meta.setdefault("min_labels", {})
    settings = {
        "options": scale.options if meta["named"] else None,
        "channels": tuple(channels.values()),
        "calibrators": tuple(meta.get("all_calibrators", meta["calibrators"])),
        # Fitted to other readings, the default is another one; what was given is not.
        "prior": None if meta.get("default_prior", False) else Priors(priors),
        "effort": Effort(**meta["effort"]),
    } | {name: meta[name] for name in SETTINGS}
    provenance = meta.get("provenance", {}).items()
    used = {name for entry in meta["channels"].values() for name in entry["covariates"]}
    learned = {
        "scale_": scale,
        "covariates_": tuple(map(str, meta.get("covariates", sorted(used)))),
        "fits_": fits,
        "weights_": weights,
        "expected_": expected,
        "losses_": {str(name): float(loss) for name, loss in meta.get("losses", {}).items()},
        "provenance_": {str(name): list(map(str, values)) for name, values in provenance},
        "seen_": seen,
        "label_counts_": counts,
    }
    return meta["estimator"], settings, learned


def unpack_posterior(
    channel: Channel,
    settings: dict[str, Any],
    fields: dict[str, Any],
    size: int,
    readers: int | None = None,
) -> Posterior:
    """Make a posterior of what `pack_posterior` made of it, and of its prior.

    Raises:
        TypeError, ValueError: its parts do not fit together.
    """
    # The first files have no shares: all draws of theirs predict.
    posterior = Posterior(
        channel,
        predicting=fields.pop("shares", None),
        **fields,
        diagnostics=as_figures(Diagnostics, settings["diagnostics"]),
        covariates=tuple(map(str, settings["covariates"])),
        readers=readers,
    )
    name, draws, prior = channel.name, posterior.draws, posterior.prior
    shares = {
        "weights": (posterior.weights, draws.shape[:1]),
        "shares": (posterior.shares, draws.shape[:1]),
        "histogram": (posterior.histogram, (size,)),
    }
    for what, (own, shape) in shares.items():
        if own.shape != shape or own.dtype.kind != "f":
            raise ValueError(f"the {what} of channel {name!r} are {own.dtype} {own.shape}")
        _check_shares(f"the {what} of channel {name!r}", own)
    # Predictions are made in single precision.
    if draws.dtype.kind != "f" or np.abs(draws).max(initial=0.0) > np.finfo(np.float32).max:
        raise ValueError(f"the draws of channel {name!r} are no numbers, or too large")
    count = (posterior.target.size,)
    if any(own.shape != count for own in (draws[0], *(prior or ()))):
        raise ValueError(f"channel {name!r} has {count[0]} parameters, its draws or prior others")
    return posterior


def _check_shares(name: str, shares: np.ndarray) -> None:
    if not shares.min() >= 0 or not math.isclose(shares.sum(), 1, abs_tol=1e-6):
        raise ValueError(f"{name} do not sum to one")


def under(prefix: str, fields: Mapping[str, Any], dtype: Any = None) -> dict[str, np.ndarray]:
    """Arrays with a prefix to their names."""
    return {prefix + name: np.asarray(array, dtype) for name, array in fields.items()}


def take(arrays: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Take the arrays out whose names have a prefix, and leave the prefix off."""
    found = [name for name in arrays if name.startswith(prefix)]
    return {name.removeprefix(prefix): arrays.pop(name) for name in found}


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
    hints, found = get_type_hints(kind), {}
    for name, value in fields.items():
        if hints[name] is float:
            value = float("nan" if value is None else value)
        if not isinstance(value, hints[name]):
            raise TypeError(f"{name} is {quote(value)}")
        found[name] = value
    return kind(**found)
