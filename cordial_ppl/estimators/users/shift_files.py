"""Fitted per-user shifts on disk."""

from pathlib import Path

import numpy as np
from jaxtyping import Float64, Int

from cordial_ppl.data.scale import Scale
from cordial_ppl.estimators.users.spreads import WIDEST, Spreads, log_normals
from cordial_ppl.estimators.users.users import FRACTIONS, VALIDATED, UserShift
from cordial_ppl.runtime import storage
from cordial_ppl.runtime.storage import Record, blaming

KIND = "users"


class UsersRecord(Record):
    """A fitted ``UserShift``.

    Attributes:
        scale: the scale.
        sigma: the setting.
        nearest: whether fractions of a class go to the nearest option.
        names: the users with labels.
        totals: log likelihood of each one's labels at every value.
        counts: each one's number of labels.
        spreads: the standard deviations; a file has no ``logs``, which follow from them.
    """

    scale: Scale
    sigma: float | str
    names: list[str]
    totals: Float64[np.ndarray, "_U _G"]
    counts: Int[np.ndarray, " _U"]
    spreads: Spreads
    nearest: bool = False


def save(shift: UserShift, path: str | Path) -> None:
    """Write a fitted ``UserShift`` of the shift."""
    state = UsersRecord(
        scale=shift.scale_,
        sigma=shift.sigma if isinstance(shift.sigma, str) else float(shift.sigma),
        names=shift.users_,
        totals=shift._totals,
        counts=np.array(list(shift.counts_.values())),
        spreads=shift._spreads._replace(logs=shift._spreads.logs[:, :0]),
        nearest=shift.effect == FRACTIONS["nearest"],
    )
    storage.write(path, KIND, *storage.pack(state))


def load(path: str | Path) -> UserShift:
    """Read a fitted `UserShift`; errors are those of ``cp.load``."""
    meta, arrays = storage.read(path, KIND)
    with blaming(path):
        state = storage.unpack(UsersRecord, meta, arrays)
        spreads, scale = state.spreads, state.scale
        shift = UserShift(scale, sigma=state.sigma)
        shift.effect = FRACTIONS["nearest" if state.nearest else "divided"]
        shift.scale_, shift._totals, shift._spreads = scale, state.totals, spreads
        shift.counts_ = dict(zip(state.names, state.counts.tolist(), strict=True))
        deviations = shift._deviations(scale.size)[0]
        if state.sigma == VALIDATED:
            deviations = deviations[np.isin(deviations, spreads.deviations)]
        if not (
            len(spreads.evidence) <= len(shift.counts_) == len(state.totals)
            and len(deviations) == len(spreads.log_shares) == spreads.evidence.shape[1]
            and np.array_equal(deviations, spreads.deviations)
            and state.counts.min(initial=1) >= 1
            and 1 / WIDEST <= deviations.min() <= deviations.max() <= WIDEST
            and state.totals.shape[1] == len(shift._grid)
        ):
            raise ValueError("its users, counts, values and standard deviations do not fit")
        shift._spreads = spreads._replace(logs=log_normals(shift._grid, deviations))
        shift.sigma_ = shift._spreads.mean
        return shift
