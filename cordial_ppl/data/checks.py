"""Checks of single settings: each returns the value, or says what it may be."""

import math
from collections.abc import Collection, Iterable
from typing import Any
from unicodedata import category, normalize

import numpy as np

from cordial_ppl.data.containers import unmasked
from cordial_ppl.data.numerals import is_missing
from cordial_ppl.errors import InputError, name_rows, quote, warn

LARGEST_SEED = 2**32 - 1

LOOKS = str.maketrans(
    "аеорсухіѕјһԁԛԝАВЕКМНОРСТХІЅЈҮονιαρΑΒΕΖΗΙΚΜΝΟΡΤΥΧ‐‑–−",
    "aeopcyxisjhdqwABEKMHOPCTXISJYoviapABEZHIKMNOPTYX----",
)
"""Letters of Cyrillic and Greek, and hyphens, by the characters that look the same."""


def check_names(setting: str, names: Iterable[Any], options: Collection[str]) -> None:
    """Raise an ``InputError`` that lists the known names if another one was given."""
    for name in names:
        if not isinstance(name, str) or name not in options:
            allowed = f"only {', '.join(options)}" if options else "no names"
            raise InputError(f"{setting} accepts {allowed}; got {quote(name)}.")


def check_list(setting: str, values: Any) -> tuple[Any, ...]:
    """Return the values of a setting, or raise an ``InputError``; a string is not a list."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(f"{setting} must be a list; got {quote(values)}.")
    return tuple(values)


def warn_of_lookalikes(noun: str, names: Iterable[str]) -> None:
    """Warn of names that look the same and differ: in an alphabet, blanks, or accents."""
    looks, pairs = dict[str, str](), list[tuple[str, str]]()
    for name in dict.fromkeys(names):
        visible = "".join(c for c in normalize("NFKC", name) if category(c) != "Cf")
        other = looks.setdefault(" ".join(visible.translate(LOOKS).split()), name)
        if other != name:
            pairs.append((other, name))
    if pairs:
        more = f", and {len(pairs) - 1} more pairs," if len(pairs) > 1 else ""
        warn(
            f"{noun} {' and '.join(map(ascii, pairs[0]))}{more} look alike. If these names mean "
            "the same thing, spell them the same way."
        )


def check_cells(noun: str, cells: Any, count: int) -> list[str]:
    """Return the names of groups, one for each text, or raise an ``InputError``."""
    column = [*check_list(noun, unmasked(cells))]
    if len(column) != count or any(map(np.ndim, column)):
        raise InputError(f"{noun} must have one name for each of {count} texts; got {len(column)}.")
    if empty := [row for row, cell in enumerate(column) if is_missing(cell)]:
        raise InputError(f"{noun} are missing in {name_rows(empty)}.")
    names = [*map(str, column)]
    warn_of_lookalikes(noun, names)
    return names


def check_flag(setting: str, value: Any) -> bool:
    """Return a setting that is true or false, or raise an ``InputError``."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{setting} must be True or False; got {quote(value)}.")
    return bool(value)


def check_number(
    setting: str, value: Any, low: float = 0, high: float = math.inf, *, whole: bool = False
) -> float:
    """Return a finite number between two others, or raise an ``InputError``."""
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    right = isinstance(value, kinds) and not isinstance(value, bool)
    if not right or not low <= value <= high or value == math.inf:
        kind = "whole number" if whole else "number"
        limits = f"of at least {low:g}" if high == math.inf else f"from {low:g} to {high:.10g}"
        # A float that looks whole is told from a whole number.
        came = repr(value) if whole and isinstance(value, float) else quote(value)
        wanted = f"a {kind} {limits}" if low < high else f"{low:g}"
        raise InputError(f"{setting} must be {wanted}; got {came}.")
    return int(value) if whole else float(value)


def check_seed(seed: Any) -> int:
    """Return a seed as an ``int``, or raise an ``InputError``."""
    return int(check_number("seed", seed, high=LARGEST_SEED, whole=True))


def check_level(level: Any, setting: str = "level", example: float = 0.9) -> float:
    """Return a probability inside an interval, or another between 0 and 1, or raise an error."""
    if not isinstance(level, int | float | np.floating) or not 0 < level < 1:
        wanted = f"between 0 and 1, such as {example:g}"
        raise InputError(f"{setting} must be {wanted}; got {quote(level)}.")
    return float(level)
