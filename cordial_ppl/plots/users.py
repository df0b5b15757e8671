"""What sets single users apart: each one's value with its interval."""

from cordial_ppl.estimators.users import UserShift
from cordial_ppl.evaluation.products.figure import INK, literal
from cordial_ppl.plots.axis import OURS, PEOPLE, Axes, drawing

MOST = 40
"""Users that are drawn; of more, those at both ends."""

LONGEST = 24
"""Letters of a user's name; a longer one loses its middle, for names may differ at either end."""


def user_values(users: UserShift, *, level: float = 0.9, ax: Axes | None = None) -> Axes:
    """Draw each user's value (of ``UserShift``: classes on the scale), the lowest at the bottom.

    Lines are credible intervals, the number of labels stands beside each name; the vertical line
    is a user like all others.  Of more than forty users the twenty lowest and the twenty highest
    are drawn.

    Args:
        users: a fitted ``UserShift``.
        level: probability inside the intervals.
        ax: where to draw.

    Returns:
        The axis.

    Raises:
        NotFittedError: there was no fit yet.
        InputError: ``level`` is not between 0 and 1, or matplotlib is not installed.
    """
    values, ends, counts = users.values_, users.intervals(level), users.counts_
    ranked = sorted(values, key=lambda name: values[name])
    cut = len(ranked) > MOST
    shown = ranked[: MOST // 2] + ranked[-MOST // 2 :] if cut else ranked
    with drawing(ax, height=0.7 + 0.13 * len(shown)) as axis:
        axis.axvline(0, color=INK, lw=0.6, ls=":")
        for row, name in enumerate(shown):
            axis.plot(ends[name], (row, row), color=PEOPLE, lw=2.5, marker="", zorder=1)
            axis.plot(values[name], row, color=OURS, marker="o", ls="", zorder=2)
        axis.set_yticks(range(len(shown)), [f"{_short(n)} ({counts[n]})" for n in shown])
        if cut:
            axis.axhline(MOST / 2 - 0.5, color=INK, lw=0.6)
        axis.set_xlabel(f"{users.effect.name}, {100 * level:.0f} % interval")
        axis.set_ylabel("user (labels)")
    return axis


def _short(name: str) -> str:
    half = LONGEST // 2
    return literal(name if len(name) <= LONGEST else f"{name[: half - 1]}…{name[-half:]}")
