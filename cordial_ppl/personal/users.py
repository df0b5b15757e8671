"""The effects that have a name, and what is saved of them."""

from pathlib import Path

from cordial_ppl.cordial.files import blaming
from cordial_ppl.personal import files
from cordial_ppl.personal.effects import EFFECTS, Effect
from cordial_ppl.personal.estimator import UserEffect


class UserShift(UserEffect):
    """Per-user shift: mass moves along the scale by Delta_u classes (Section 2.7 of the paper).

    The paper plugs in the mode under a cross-validated sigma: ``average=False,
    sigma="cross-validated"``, here on a grid of 0.05 classes.
    """

    effect = EFFECTS["shift"]


class UserTemperature(UserEffect):
    """Per-user temperature: makes a user's predictions more or less confident."""

    effect = EFFECTS["temperature"]


class UserIntercept(UserEffect):
    """Per-user intercept on the cumulative logits.

    On the predictions of ``ProportionalOdds`` it is random-intercept ordinal regression.
    """

    effect = EFFECTS["intercept"]


class UserReliability(UserEffect):
    """Per-user reliability: how far a user's prediction is drawn to the label histogram."""

    effect = EFFECTS["reliability"]


KINDS: dict[Effect, type[UserEffect]] = {
    kind.effect: kind for kind in (UserShift, UserTemperature, UserIntercept, UserReliability)
}


def load(path: str | Path) -> UserEffect:
    """Read a fitted estimator of what sets users apart.

    Args:
        path: a file that ``save`` wrote.

    Raises:
        FileError: the file cannot be read, is damaged, was changed, or is of a newer version.
    """
    state = files.read(path)
    with blaming(path):
        return KINDS[state.effect].restore(state)
