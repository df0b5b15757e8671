"""A door: a way for input to come in, and what may happen there."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cordial_ppl.errors import CordialError


class Door(NamedTuple):
    """A way for input to come in.

    Attributes:
        name: What the table calls it.
        make: Makes a case from random numbers; its files go into the folder.
        enter: Brings the case in. What is returned is not looked at: a result that is not sound is
            an `AssertionError`.
    """

    name: str
    make: Callable[[random.Random, Path], Any]
    enter: Callable[[Any, Path], Any]


def check_message(error: CordialError) -> None:
    """Hold an error to what errors promise: words, and no line breaks of a dump."""
    text = str(error)
    assert text.strip(), f"{type(error).__name__} without a message"
    assert len(text) < 5000, f"a message of {len(text)} characters"


def attempt(function: Callable[..., Any], *args: Any, **settings: Any) -> Any:
    """Call what may refuse; its result, or None."""
    try:
        return function(*args, **settings)
    except CordialError as error:
        check_message(error)
        return None


def assert_probabilities(probs: np.ndarray, rows: int | None = None) -> None:
    """Hold predictions to what probabilities are."""
    assert probs.ndim == 2 and probs.dtype == np.float64
    assert rows is None or len(probs) == rows
    assert np.isfinite(probs).all() and (probs >= 0).all(), "no probabilities"
    assert np.allclose(probs.sum(axis=1), 1.0, rtol=0, atol=1e-6), "they do not sum to one"
