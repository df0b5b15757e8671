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

Source = Prior | LearnedPrior | None
"""The prior of one channel: given, learned, or its own."""


def as_source(prior: Any, channels: Collection[str]) -> dict[str, Prior] | LearnedPrior:
    """Check what an estimator was given as its prior; a file is read.

    Args:
        prior: priors by channel name, a learned prior, the path of one's file, or None.
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
            "prior must be priors by channel name, a learned prior or the path of its file; got "
            f"a {type(prior).__name__}."
        )
    given = dict(prior or {})
    unknown = [name for name in given if name not in channels]
    if unknown:
        known = f"one of {', '.join(channels)}" if channels else "nothing here, for there is none"
        raise InputError(f"prior may name {known}; got {unknown[0]!r}.")
    return given


def source_of(prior: Mapping[str, Prior] | LearnedPrior, channel: str) -> Source:
    """What there is for a channel; None if it keeps its own prior."""
    if isinstance(prior, LearnedPrior):
        return prior if channel in prior.channels else None
    return prior.get(channel)


def resolve(source: Source, target: Target) -> Prior | None:
    """The prior of a channel on its scale; None if it keeps its own.

    Raises:
        InputError: a learned prior does not fit the channel.
    """
    return source.of(target) if isinstance(source, LearnedPrior) else source


def pseudo_counts_of(
    prior: Mapping[str, Prior] | LearnedPrior, size: int
) -> Float[np.ndarray, " K"] | None:
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
