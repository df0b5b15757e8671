"""Fitted per-user shifts on disk."""

import numpy as np
from jaxtyping import Float64, Int

from cordial_ppl.data.scale import Scale
from cordial_ppl.estimators.users.spreads import Spreads
from cordial_ppl.runtime.storage import Record

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
