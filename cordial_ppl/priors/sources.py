"""Where an estimator's priors come from: given one by one, learned, or a file of a learned one."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.errors import InputError
from cordial_ppl.inference.target import Prior, Target
from cordial_ppl.priors.learned import LearnedPrior
from cordial_ppl.priors.named import NamedPrior, check_used

Source = Prior | LearnedPrior | NamedPrior | None
"""The prior of one channel: given, learned, by the names of its parameters, or its own."""

OWN = "own"
"""Says that every channel is to keep the prior of its own file."""


@dataclass(frozen=True, eq=False)
class Priors:
    """The priors of an estimator's channels.

    Attributes:
        given: by name of the channel.
        shared: by the name of a parameter of any channel that is not in ``given``.
        learned: of all channels that nothing was given for and that it was learned with.
    """

    given: Mapping[str, Prior | NamedPrior] = field(default_factory=dict)
    shared: NamedPrior | None = None
    learned: LearnedPrior | None = None

    def of(self, channel: str) -> Source:
        """What there is for a channel; None if it keeps its own prior."""
        if channel in self.given or self.shared is not None:
            return self.given.get(channel, self.shared)
        known = self.learned is not None and channel in self.learned.channels
        return self.learned if known else None

    def check(self, targets: Collection[Target]) -> None:
        """Refuse the name of a parameter that none of the channels has.

        Raises:
            InputError: there is one.
        """
        if self.shared is not None:
            check_used(self.shared.values, targets)

    def pseudo_counts(self, size: int) -> Float[np.ndarray, " K"] | None:
        """Pseudo-counts of the label histogram of K options; None for the usual ones."""
        return None if self.learned is None else self.learned.pseudo_counts(size)


def as_priors(prior: Any, channels: Collection[str], default: LearnedPrior | None = None) -> Priors:
    """Check what an estimator was given as its prior; a file is read.

    Args:
        prior: a mapping by the name of a channel (to a ``Prior`` or to a mapping by the name of a
            parameter) or of a parameter of any channel; a learned prior; the path of one's file;
            "own" for that of each channel's file; None for the default; or checked already.
        channels: names of the estimator's channels.
        default: a learned prior, also of what a mapping does not name.

    Raises:
        InputError: it is none of these, or is for other channels.
        FileError: the file cannot be read or holds no learned prior.
    """
    if isinstance(prior, Priors):
        return prior
    if isinstance(prior, str) and prior == OWN:
        return Priors()
    if isinstance(prior, str | Path):
        prior = _read(Path(prior))
    if isinstance(prior, LearnedPrior):
        if channels and not set(channels) & set(prior.channels):
            raise InputError(
                f"the prior was learned for {', '.join(prior.channels)}; none of these is among "
                f"the channels {', '.join(channels)}. Learn one with --channel."
            )
        return Priors(learned=prior)
    if prior is not None and (not isinstance(prior, Mapping) or isinstance(prior, Prior)):
        raise InputError(
            "prior must be priors by the name of a channel or a parameter, a learned prior, the "
            f"path of its file, or {OWN!r}; got a {type(prior).__name__}."
        )
    given: dict[str, Prior | NamedPrior] = {}
    shared: dict[str, Any] = {}
    for name, value in (prior or {}).items():
        if isinstance(value, Prior | NamedPrior | Mapping) and name not in channels:
            known = f"the channels {', '.join(channels)}" if channels else "no channel here"
            raise InputError(f"prior may name {known}; got {name!r}.")
        if isinstance(value, Prior | NamedPrior):
            given[name] = value
        elif isinstance(value, Mapping):
            given[name] = NamedPrior(value, base=default)
        else:
            shared[name] = value
    if shared and not channels:
        raise InputError(f"prior names {next(iter(shared))!r}, but there is no channel here.")
    named = NamedPrior(shared, strict=False, base=default) if shared else None
    return Priors(given, named, default)


def resolve(source: Source, target: Target, spread: float) -> Prior | None:
    """The prior of a channel on its scale; None if it keeps its own.

    Args:
        source: where it comes from.
        target: the channel.
        spread: of the readings, nats.

    Raises:
        InputError: what was given or learned does not fit the channel.
    """
    if isinstance(source, LearnedPrior | NamedPrior):
        return source.of(target, spread)
    return source


def _read(path: Path) -> LearnedPrior:
    try:
        return _load(path, path.stat().st_mtime_ns)
    except (OSError, ValueError):  # No file, or no name of any; `load` says which.
        return LearnedPrior.load(path)


@lru_cache(maxsize=64)
def _load(path: Path, _: int) -> LearnedPrior:
    """Read a file once for each time that it was changed, so that estimators share the prior."""
    return LearnedPrior.load(path)
