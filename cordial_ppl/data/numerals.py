"""Numbers as labels and names write them."""

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

MINUS = "\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d"
"""Characters that stand for the minus sign of numbers."""

THOUSANDS = re.compile(rf"[+{MINUS}-]?[1-9]\d{{0,2}},\d{{3}}")
"""A number in which a comma may be at thousands, or before three decimals."""

PLAIN = " Use a decimal point and no thousands separator."
"""Advice for what `THOUSANDS` matches."""

NULLS = {"NAType", "NaTType", "MaskedConstant"}
"""Types of what stands for no value in pandas and NumPy."""


def is_counting(numbers: Sequence[float | None]) -> bool:
    """Return whether no number is missing and they rise in steps of one."""
    first = next(iter(numbers), None)
    return first is not None and list(numbers) == [first + i for i in range(len(numbers))]


def parse_number(label: Any) -> float | None:
    """Return the finite number that a label or a name is, or None.

    It may have a decimal comma, and another character for its minus sign.
    """
    if isinstance(label, str):
        label = re.sub(rf"^\s*[{MINUS}]", "-", label)
        if label.count(",") == 1 and "." not in label:
            label = label.replace(",", ".")
    try:
        number = float(label)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def is_exact(label: Any) -> bool:
    """Return whether a float holds a whole number as it is; true of any other label."""
    try:
        return int(str(label)) == float(label)
    except (TypeError, ValueError, OverflowError):
        return True


def has_thousands(label: Any) -> bool:
    """Tell a number that may have a comma at thousands, "1,000", or before three decimals."""
    return isinstance(label, str) and bool(THOUSANDS.fullmatch(label.strip()))


def in_order(names: Sequence[str]) -> tuple[str, ...]:
    """Sort names that are numbers, unless they rise or fall already."""
    numbers = [parse_number(name) for name in names]
    finite = [number for number in numbers if number is not None]
    if finite != numbers or sorted(finite) in (finite, finite[::-1]):
        return tuple(names)
    return tuple(name for _, name in sorted(zip(finite, names, strict=True)))


def is_missing(label: Any) -> bool:
    """Return whether a label is missing: None, NaN, a null, or an empty text."""
    if label is None or (isinstance(label, str) and label.strip().lower() in ("", "nan")):
        return True
    if isinstance(label, float | np.floating):
        return math.isnan(label)
    return type(label).__name__ in NULLS or str(label) == "NaT"
