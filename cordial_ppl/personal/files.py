"""Fitted per-user effects on disk."""

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float64, Int
from msgspec.structs import replace

from cordial_ppl import storage
from cordial_ppl.errors import InputError
from cordial_ppl.personal.effects import SHIFT
from cordial_ppl.personal.spreads import Spreads
from cordial_ppl.scale import Scale
from cordial_ppl.storage import Record, blaming

KIND = "users"
WIDEST = 1e9
"""Standard deviations of users lie between its inverse and it."""


class State(Record, kw_only=False):
    """A fitted estimator.

    Attributes:
        effect: what differs between users; in a file, its name.
        scale: the scale.
        settings: ``average``, ``sigma``, and whether the options were ``named``.
        histogram: smoothed label histogram.
        names: the users with labels.
        totals: log likelihood of each one's labels at every value.
        counts: each one's number of labels.
        spreads: the standard deviations; a file does not hold their priors, which follow from them.
    """

    effect: Any
    scale: Scale
    settings: dict[str, Any]
    histogram: Float64[np.ndarray, " _K"]
    names: list[str]
    totals: Float64[np.ndarray, "_U _G"]
    counts: Int[np.ndarray, " _U"]
    spreads: Spreads


def write(path: str | Path, state: State) -> None:
    """Write a fitted estimator to one file.

    Raises:
        InputError: the effect is not the shift.
        FileError: the file cannot be written.
    """
    if state.effect != SHIFT:
        raise InputError(f"only the shift of UserShift can be saved; got {state.effect.name!r}.")
    spreads = state.spreads._replace(logs=np.zeros((len(state.spreads.deviations), 0)))
    storage.write(path, KIND, *storage.pack(replace(state, effect=SHIFT.name, spreads=spreads)))


def read(path: str | Path) -> State:
    """Read a fitted estimator.

    Raises:
        FileError: the file cannot be read, is damaged, was changed, or is of another version.
    """
    meta, arrays = storage.read(path, KIND)
    with blaming(path):
        state = storage.unpack(State, meta, arrays)
        if state.effect != SHIFT.name:
            raise ValueError(f"it holds users' {state.effect}, and only a shift can be loaded")
        _check(state)
        return replace(state, effect=SHIFT)


def _check(state: State) -> None:
    """Raise ValueError where the parts of a file do not fit together."""
    users, (deviations, _, log_shares, evidence) = len(state.names), state.spreads
    if users != len(set(state.names)) or not len(evidence) <= users == len(state.counts):
        raise ValueError("its numbers are of other users")
    if len(state.histogram) != state.scale.size or not np.isclose(state.histogram.sum(), 1):
        raise ValueError("its histogram is of another scale")
    if state.histogram.min() <= 0 or state.counts.min(initial=1) < 1:
        raise ValueError("its histogram or counts are not above zero")
    if not len(deviations) == len(log_shares) == evidence.shape[1]:
        raise ValueError("its standard deviations and their shares do not fit together")
    if not 1 / WIDEST < deviations.min(initial=1) <= deviations.max(initial=0) < WIDEST:
        raise ValueError("its standard deviations are missing, too small or too large")
