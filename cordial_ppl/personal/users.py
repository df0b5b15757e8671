"""Users who differ by a shift, and how a saved fit of them is loaded."""

from pathlib import Path

from cordial_ppl.cordial.files import blaming
from cordial_ppl.personal import files
from cordial_ppl.personal.effects import SHIFT
from cordial_ppl.personal.estimator import UserEffect


class UserShift(UserEffect):
    """Per-user shift: mass moves along the scale by Delta_u classes (Section 2.7 of the paper).

    The paper plugs in the mode under a cross-validated sigma: ``average=False,
    sigma="cross-validated"``, here on a grid of 0.05 classes.
    """

    effect = SHIFT


def load(path: str | Path) -> UserShift:
    """Read a fitted `UserShift`.

    Args:
        path: a file that ``save`` wrote.

    Raises:
        FileError: the file cannot be read, is damaged, was changed, or is of a newer version.
    """
    state = files.read(path)
    with blaming(path):
        return UserShift.restore(state)
