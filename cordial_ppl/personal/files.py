"""Fitted per-user effects on disk: what they have learned, as plain data."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl import storage
from cordial_ppl.cordial.files import blaming
from cordial_ppl.errors import FileError, InputError
from cordial_ppl.personal.effects import SHIFT, Effect
from cordial_ppl.personal.spreads import Spreads
from cordial_ppl.scale import Scale

KIND = "users"

WIDEST = 1e9
"""No standard deviation of users comes near it or its inverse."""


class State(NamedTuple):
    """All that a fitted estimator consists of.

    Attributes:
        effect: what differs between users.
        scale: the scale.
        settings: ``average``, ``sigma``, and whether the options were ``named``.
        histogram: smoothed label histogram.
        names: the users with labels.
        totals: log likelihood of each one's labels at every value.
        counts: each one's number of labels.
        spreads: the standard deviations; a file does not hold their priors, which follow from them.
    """

    effect: Effect
    scale: Scale
    settings: dict[str, Any]
    histogram: Float[np.ndarray, " K"]
    names: list[str]
    totals: Float[np.ndarray, "U G"]
    counts: Int[np.ndarray, " U"]
    spreads: Spreads


def write(path: str | Path, state: State) -> None:
    """Write what a fitted estimator has learned to one file.

    Raises:
        InputError: the effect is none that ``read`` would know.
        FileError: the file cannot be written.
    """
    if state.effect != SHIFT:
        raise InputError(f"only the shift of UserShift can be saved; got {state.effect.name!r}.")
    sigma = state.settings["sigma"]
    meta = {
        "effect": state.effect.name,
        "options": list(state.scale.options),
        **state.settings,
        "sigma": sigma if isinstance(sigma, str) else float(sigma),
        "users": state.names,
    }
    arrays = {name: getattr(state, name) for name in ("histogram", "totals", "counts")}
    arrays |= {name: getattr(state.spreads, name) for name in STORED}
    storage.write(path, KIND, meta, arrays)


STORED = ("deviations", "log_shares", "evidence")


def read(path: str | Path) -> State:
    """Read what a fitted estimator has learned.

    Raises:
        FileError: the file cannot be read, is damaged, was changed, is of a newer version, or holds
            an effect that is no shift.
    """
    meta, arrays = storage.read(path, KIND)
    if meta.get("effect") != SHIFT.name:
        raise FileError(
            f"{path} holds users' {meta.get('effect')}, and only a shift can be loaded: fit "
            "cordial_ppl.UserShift to their labels and save it."
        )
    with blaming(path):
        deviations, log_shares, evidence = (arrays.pop(name) for name in STORED)
        spreads = Spreads(deviations, np.zeros((len(deviations), 0)), log_shares, evidence)
        state = State(
            effect=SHIFT,
            scale=Scale(tuple(meta["options"])),
            settings={name: meta[name] for name in ("named", "average", "sigma")},
            names=meta["users"],
            spreads=spreads,
            **arrays,
        )
        _check(state)
    return state


def _check(state: State) -> None:
    """Raise ValueError where the parts of a file do not fit together."""
    spreads, users = state.spreads, len(state.names)
    if not all(isinstance(name, str) for name in state.names) or users != len(set(state.names)):
        raise ValueError("its users are not names, each once")
    floats = (state.histogram, state.totals, *(getattr(spreads, name) for name in STORED))
    if any(array.dtype != np.float64 for array in floats) or state.counts.dtype.kind != "i":
        raise ValueError("its arrays are of another type")
    if state.histogram.shape != (state.scale.size,) or not np.isclose(state.histogram.sum(), 1):
        raise ValueError("its histogram is of another scale")
    if state.histogram.min() <= 0 or state.counts.shape != (users,) or state.counts.min() < 1:
        raise ValueError("its histogram or counts are not above zero")
    size = len(spreads.deviations)
    if spreads.log_shares.shape != (size,) or size == 0:
        raise ValueError("its standard deviations and their shares do not fit together")
    if not 1 / WIDEST < spreads.deviations.min() <= spreads.deviations.max() < WIDEST:
        raise ValueError("its standard deviations are too small or too large")
    if spreads.evidence.shape[1:] != (size,) or len(spreads.evidence) > users:
        raise ValueError("its evidence is of other users or standard deviations")
    if not all(isinstance(state.settings[name], bool) for name in ("named", "average")):
        raise ValueError("its settings are neither true nor false")
