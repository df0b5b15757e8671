"""Groups of texts, and users, by rank: the value of each with its interval."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cordial_ppl.decisions.estimates.estimate import Estimate
from cordial_ppl.decisions.question import TARGETS
from cordial_ppl.errors import InputError
from cordial_ppl.estimators.users import UserShift
from cordial_ppl.plots.figure import INK, OURS, PEOPLE, Axes, drawing, literal

GROUPS, USERS = 60, 40
"""Groups and users that are drawn; of more, those at both ends."""

LONGEST = 24
"""Letters of a user's name; a longer one loses its middle, for names may differ at either end."""


def groups(made: Estimate, *, by: str = "group", ax: Axes | None = None) -> Axes:
    """Draw the mean label of each group, the highest at the top.

    Lines are intervals, the number of labels stands beside each name; a hollow mark is a group
    without labels, the vertical line the mean of all texts with its interval.  Of more than sixty
    groups the thirty highest and the thirty lowest are drawn.

    Args:
        made: an estimate with groups, from ``Stack.estimate``.
        by: what the groups are, such as "system".
        ax: where to draw.

    Returns:
        The axis.

    Raises:
        InputError: the estimate has no groups, or matplotlib is not installed.
    """
    if not made.groups:
        raise InputError("this estimate has no groups: give groups to estimate.")
    names, whole = _both_ends(made.ranking[::-1], GROUPS), made.overall.mean
    interval = f"{100 * made.level:.0f} % interval"
    cut = f"{len(names)} of {len(made.groups)} shown, " if len(names) < len(made.groups) else ""
    with drawing(ax, height=0.7 + 0.15 * len(names)) as axis:
        axis.axvspan(whole.lower, whole.upper, color=PEOPLE, alpha=0.35, lw=0)
        axis.axvline(whole.mean, color=INK, lw=0.6, ls=":")
        shown = [(literal(name), made.groups[name]) for name in names]
        rows = [(name, each.labels, *each.mean[:3]) for name, each in shown]
        _draw_rows(axis, rows, cut=bool(cut), color=OURS, lw=1.2)
        # One entry of a legend, for who draws one.
        axis.plot([], [], color=OURS, lw=1.2, marker="o", label=f"estimate, {interval}")
        axis.set_ylim(-0.7, len(names) - 0.3)
        kind = "texts like these" if made.of == TARGETS[0] else "these texts"
        axis.set_xlabel(f"mean label of {kind}, {interval}")
        axis.set_ylabel(f"{literal(by)} ({cut}labels)")
    return axis


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
    names = _both_ends(sorted(values, key=lambda name: values[name]), USERS)
    with drawing(ax, height=0.7 + 0.13 * len(names)) as axis:
        axis.axvline(0, color=INK, lw=0.6, ls=":")
        rows = [(_short(name), counts[name], values[name], *ends[name]) for name in names]
        _draw_rows(axis, rows, cut=len(names) < len(values), color=PEOPLE, lw=2.5)
        axis.set_xlabel(f"{users.effect.name}, {100 * level:.0f} % interval")
        axis.set_ylabel("user (labels)")
    return axis


def _both_ends(names: Sequence[str], most: int) -> list[str]:
    """Leave out the middle of a ranking that is too long."""
    return list(names) if len(names) <= most else [*names[: most // 2], *names[-most // 2 :]]


def _short(name: str) -> str:
    half = LONGEST // 2
    return literal(name if len(name) <= LONGEST else f"{name[: half - 1]}…{name[-half:]}")


def _draw_rows(axis: Axes, rows: Sequence[Any], *, cut: bool, **line: Any) -> None:
    """Draw rows of name, number of labels, value and interval; a hollow mark has no labels."""
    names, numbers, values, *ends = zip(*rows, strict=True)
    places, labelled = np.arange(len(rows)), np.array(numbers) > 0
    axis.plot(ends, (places, places), marker="", zorder=1, **line)
    for face, some in ((OURS, labelled), ("white", ~labelled)):
        mark = {"color": OURS, "marker": "o", "mfc": face, "ls": "", "zorder": 2}
        axis.plot(np.array(values)[some], places[some], **mark)
    if cut:
        axis.axhline(len(rows) / 2 - 0.5, color=INK, lw=0.6)
    labels = [f"{name} ({number})" for name, number in zip(names, numbers, strict=True)]
    axis.set_yticks(places, labels)
