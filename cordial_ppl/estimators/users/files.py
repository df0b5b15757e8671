"""Fitted per-user shifts on disk."""

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float64, Int

from cordial_ppl.channels.users import SHIFT
from cordial_ppl.data.scale import Scale
from cordial_ppl.estimators.users.spreads import WIDEST, Spreads
from cordial_ppl.runtime import storage
from cordial_ppl.runtime.storage import Record, blaming

KIND = "users"


class State(Record):
    """A fitted ``UserShift``.

    Attributes:
        effect: the name of the effect.
        scale: the scale.
        settings: ``sigma``, ``average`` (true), and whether the options were ``named``.
        names: the users with labels.
        totals: log likelihood of each one's labels at every value.
        counts: each one's number of labels.
        spreads: the standard deviations; a file has no ``logs``, which follow from them.
    """

    effect: str
    scale: Scale
    settings: dict[str, Any]
    names: list[str]
    totals: Float64[np.ndarray, "_U _G"]
    counts: Int[np.ndarray, " _U"]
    spreads: Spreads


def read(path: str | Path) -> State:
    """Read a fitted ``UserShift``.

    Raises:
        FileError: the file cannot be read, is damaged, was changed, or is of another version.
    """
    meta, arrays = storage.read(path, KIND)
    with blaming(path):
        state = storage.unpack(State, meta, arrays)
        if state.effect != SHIFT.name or state.settings["average"] is not True:
            raise ValueError("it holds another effect of users than the shift")
        users, (deviations, _, log_shares, evidence) = len(state.names), state.spreads
        if not (
            len(evidence) <= users == len(state.counts) == len(set(state.names))
            and len(deviations) == len(log_shares) == evidence.shape[1]
            and state.counts.min(initial=1) >= 1
            and 1 / WIDEST <= deviations.min(initial=1) <= deviations.max(initial=0) <= WIDEST
        ):
            raise ValueError("its users, counts and standard deviations do not fit together")
        return state
