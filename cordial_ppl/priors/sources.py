"""Where an estimator's priors come from: given one by one, learned, or a file of a learned one."""

from collections.abc import Collection, Mapping
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

ALL = ""
"""Stands for every channel that has no prior of its own."""

Given = Mapping[str, Prior | NamedPrior] | LearnedPrior
"""What an estimator was given: by name of the channel, or learned."""


def as_source(prior: Any, channels: Collection[str]) -> Given:
    """Check what an estimator was given as its prior; a file is read.

    Args:
        prior: a mapping by the name of a channel (to a ``Prior`` or to a mapping by the name of a
            parameter) or of a parameter of any channel; a learned prior; the path of one's file;
            or None.
        channels: names of the estimator's channels.

    Raises:
        InputError: it is none of these, or is for other channels.
        FileError: the file cannot be read or holds no learned prior.
    """
    if isinstance(prior, str | Path):
        prior = _read(Path(prior))
    if isinstance(prior, LearnedPrior):
        if channels and not set(channels) & set(prior.channels):
            raise InputError(
                f"the prior was learned for {', '.join(prior.channels)}; none of these is among "
                f"the channels {', '.join(channels)}. Learn one with --channel."
            )
        return prior
    if prior is not None and (not isinstance(prior, Mapping) or isinstance(prior, Prior)):
        raise InputError(
            "prior must be priors by the name of a channel or a parameter, a learned prior or the "
            f"path of its file; got a {type(prior).__name__}."
        )
    given: dict[str, Prior | NamedPrior] = {}
    shared: dict[str, Any] = {}
    for name, value in (prior or {}).items():
        if isinstance(value, Prior | NamedPrior | Mapping) and name not in (*channels, ALL):
            known = f"the channels {', '.join(channels)}" if channels else "no channel here"
            raise InputError(f"prior may name {known}; got {name!r}.")
        if isinstance(value, Prior | NamedPrior):
            given[name] = value
        elif isinstance(value, Mapping):
            given[name] = NamedPrior(value)
        else:
            shared[name] = value
    if shared and not channels:
        raise InputError(f"prior names {next(iter(shared))!r}, but there is no channel here.")
    return given | ({ALL: NamedPrior(shared, strict=False)} if shared else {})


def check_given(prior: Given, targets: Collection[Target]) -> None:
    """Refuse the name of a parameter that none of the channels has.

    Raises:
        InputError: there is one.
    """
    shared = None if isinstance(prior, LearnedPrior) else prior.get(ALL)
    if isinstance(shared, NamedPrior):
        check_used(shared.values, targets)


def source_of(prior: Given, channel: str) -> Source:
    """What there is for a channel; None if it keeps its own prior."""
    if isinstance(prior, LearnedPrior):
        return prior if channel in prior.channels else None
    return prior.get(channel, prior.get(ALL))


def resolve(source: Source, target: Target) -> Prior | None:
    """The prior of a channel on its scale; None if it keeps its own.

    Raises:
        InputError: what was given or learned does not fit the channel.
    """
    return source.of(target) if isinstance(source, LearnedPrior | NamedPrior) else source


def pseudo_counts_of(prior: Given, size: int) -> Float[np.ndarray, " K"] | None:
    """Pseudo-counts of the label histogram of K options; None for the usual ones."""
    return prior.pseudo_counts(size) if isinstance(prior, LearnedPrior) else None


def _read(path: Path) -> LearnedPrior:
    try:
        return _load(path, path.stat().st_mtime_ns)
    except OSError:
        return LearnedPrior.load(path)


@lru_cache(maxsize=64)
def _load(path: Path, _: int) -> LearnedPrior:
    """Read a file once for each time that it was changed, so that estimators share the prior."""
    return LearnedPrior.load(path)
