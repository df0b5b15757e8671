"""Settings of an estimator: each is checked when it is given, with a message of what it may be."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from cordial_ppl.errors import InputError
from cordial_ppl.inference.fit import METHODS

LARGEST_SEED = 2**32 - 1


def check_method(method: str) -> str:
    """Return the name of an inference method, or raise an ``InputError`` that lists them."""
    if method not in METHODS:
        raise InputError(f"inference must be one of {', '.join(METHODS)}; got {method!r}.")
    return method


def check_seed(seed: Any) -> int:
    """Return a seed as an ``int``, or raise an ``InputError``."""
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not whole or not 0 <= seed <= LARGEST_SEED:
        raise InputError(f"seed must be a whole number 0..{LARGEST_SEED}; got {seed!r}.")
    return int(seed)


def check_level(level: Any) -> float:
    """Return the probability inside an interval, or raise an ``InputError``."""
    if not isinstance(level, int | float | np.floating) or not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, such as 0.9; got {level!r}.")
    return float(level)


def check_names(setting: str, names: Collection[str], known: Collection[str]) -> None:
    """Raise an ``InputError`` that lists the known names if another one was given."""
    unknown = [name for name in names if name not in known]
    if unknown:
        allowed = f"one of {', '.join(known)}" if known else "nothing here, for there is none"
        raise InputError(f"{setting} may name {allowed}; got {unknown[0]!r}.")


def check_counts(counts: Mapping[str, Any], members: Collection[str]) -> dict[str, float]:
    """Return pseudo-counts of members as ``float``, or raise an ``InputError``."""
    check_names("weight_counts", counts, members)
    for name, count in counts.items():
        if not isinstance(count, int | float | np.integer | np.floating) or not 0 <= count < float(
            "inf"
        ):
            raise InputError(
                f"weight_counts must be finite numbers of 0 or more; got {count!r} for {name!r}."
            )
    return {name: float(count) for name, count in counts.items()}
