"""Answers as values that JSON can express."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def as_values(answer: Any) -> Any:
    """Turn an answer, and what it holds, into values that JSON can express."""
    if hasattr(answer, "to_dict"):
        return answer.to_dict()
    if is_dataclass(answer) or hasattr(answer, "_fields"):
        return list_fields(answer)
    if isinstance(answer, Mapping):
        return {name: as_values(value) for name, value in answer.items()}
    if isinstance(answer, list | tuple):
        return [as_values(value) for value in answer]
    return answer.tolist() if isinstance(answer, np.ndarray) else answer


def list_fields(answer: Any) -> dict[str, Any]:
    """Turn the fields of an answer into such values by name, as a part of its ``to_dict``."""
    names = answer._fields if hasattr(answer, "_fields") else [each.name for each in fields(answer)]
    return {name: as_values(getattr(answer, name)) for name in names}
