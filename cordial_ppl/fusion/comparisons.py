"""What a fusion is compared with: no channels, one regression on all readings, their average."""

from typing import Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.cordial.named import LogitStack
from cordial_ppl.cordial.single import LogitCalibrator
from cordial_ppl.cordial.stack import Stack
from cordial_ppl.cordial.weighing import stated
from cordial_ppl.errors import InputError, name_rows
from cordial_ppl.fusion.door import as_reader_logits, read_by
from cordial_ppl.fusion.fusion import Fusion


class LogitFusion(Fusion):
    """The same fusion without channels: logit stacks, also of the average, and no joint channel."""

    joint = False

    def _stack(self, seed: int) -> Stack:
        return LogitStack(self.options, seed=seed)


class ConcatenatedDirichlet(LogitCalibrator):
    r"""Dirichlet calibration of all readings at once.

    .. math:: \hat p(z) = \mathrm{softmax}\big(\textstyle\sum_r W_r \log q_r + b\big)

    R K^2 + K parameters, with the penalties of ``DirichletCalibration`` on each ``W_r``.  Every
    reader must have read every text.
    """

    name = "concatenated"

    def _read(self, logits: Any, size: int | None = None) -> Float[np.ndarray, "n R K"]:
        found, _ = as_reader_logits(logits, size=size)
        missing = np.flatnonzero(~read_by(found).all(axis=1))
        if missing.size:
            raise InputError(
                "concatenated readings need every reader's reading of every text; one is missing "
                f"in {name_rows(missing)}."
            )
        return found


def average_reading(logits: Any) -> Float[np.ndarray, "n K"]:
    r"""Logits of the readers' average, :math:`\log \frac1R \sum_r \mathrm{softmax}(\ell_r)`.

    Args:
        logits: option logits, shape ``[n, R, K]``, or ``[n, K]`` a reader by name; missing readings
            are left out of the average.

    Returns:
        Log probabilities, for ``RawReading``, ``Cordial`` or any other calibrator of one reader.

    Raises:
        InputError: the readings cannot be used.
    """
    found, _ = as_reader_logits(logits)
    return np.log(np.maximum(stated(found), np.finfo(np.float64).tiny))
