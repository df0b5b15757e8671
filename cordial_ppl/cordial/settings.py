"""Settings of an estimator: each is checked when it is given, with a message of what it may be."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from cordial_ppl.errors import InputError, quote
from cordial_ppl.inference.fit import METHODS
from cordial_ppl.inference.sampler import Effort

LARGEST_SEED = 2**32 - 1
LARGEST_COUNT = float(np.finfo(np.float64).max)

LEAST_EFFORT = Effort(particles=64, proposals=1, moves=1, last_moves=0, least_ess=0.0, repairs=0)
"""Fewer particles are too few to fit the tail of their weights to."""


def check_method(method: str) -> str:
    """Return the name of an inference method, or raise an ``InputError`` that lists them."""
    if not isinstance(method, str) or method not in METHODS:
        raise InputError(f"inference must be one of {', '.join(METHODS)}; got {quote(method)}.")
    return method


def check_list(setting: str, values: Any) -> tuple[Any, ...]:
    """Return the values of a setting, or raise an ``InputError``; a text is one name, no list."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(f"{setting} must be a list; got {quote(values)}.")
    return tuple(values)


def check_mapping(
    setting: str, values: Any, known: Collection[str] | None = None
) -> dict[Any, Any]:
    """Return the values of a setting by name, none for None, or raise an ``InputError``."""
    if values is not None and not isinstance(values, Mapping):
        raise InputError(f"{setting} must be values by name; got {quote(values)}.")
    if known is not None:
        check_names(setting, values or (), known)
    return dict(values or {})


def check_flag(setting: str, value: Any) -> bool:
    """Return a setting that is true or false, or raise an ``InputError``."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{setting} must be True or False; got {quote(value)}.")
    return bool(value)


def check_seed(seed: Any) -> int:
    """Return a seed as an ``int``, or raise an ``InputError``."""
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not whole or not 0 <= seed <= LARGEST_SEED:
        raise InputError(f"seed must be a whole number 0..{LARGEST_SEED}; got {quote(seed)}.")
    return int(seed)


def check_effort(effort: Effort) -> Effort:
    """Return how much work to do, or raise an ``InputError`` that names the first wrong number."""
    for name, least in LEAST_EFFORT._asdict().items():
        value = getattr(effort, name)
        whole = isinstance(least, int)
        kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
        if not isinstance(value, kinds) or isinstance(value, bool) or not value >= least:
            kind = "whole number" if whole else "number"
            raise InputError(
                f"effort.{name} must be a {kind} of {least:g} or more; got {quote(value)}."
            )
    return effort


def check_level(level: Any) -> float:
    """Return the probability inside an interval, or raise an ``InputError``."""
    if not isinstance(level, int | float | np.floating) or not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, such as 0.9; got {quote(level)}.")
    return float(level)


def check_names(setting: str, names: Collection[str], known: Collection[str]) -> None:
    """Raise an ``InputError`` that lists the known names if another one was given."""
    unknown = [name for name in names if not isinstance(name, str) or name not in known]
    if unknown:
        allowed = f"one of {', '.join(known)}" if known else "nothing here, for there is none"
        raise InputError(f"{setting} may name {allowed}; got {quote(unknown[0])}.")


def check_counts(counts: Any, members: Collection[str]) -> dict[str, float]:
    """Return pseudo-counts of members as ``float``, or raise an ``InputError``."""
    given = check_mapping("weight_counts", counts, members)
    for name, count in given.items():
        number = isinstance(count, int | float | np.integer | np.floating)
        if not number or not 0 <= count <= LARGEST_COUNT:
            raise InputError(
                f"weight_counts must be finite numbers of 0 or more; got {quote(count)} for "
                f"{name!r}."
            )
    return {name: float(count) for name, count in given.items()}
