"""How good each group of texts is, with its interval."""

from cordial_ppl.decisions.estimates.estimate import Estimate
from cordial_ppl.errors import InputError
from cordial_ppl.evaluation.products.figure import INK, literal
from cordial_ppl.plots.axis import OURS, PEOPLE, Axes, drawing

MOST = 60
"""Groups that are drawn; of more, those at both ends."""


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
    names = made.ranking[::-1]
    cut = len(names) > MOST
    names = [*names[: MOST // 2], *names[-MOST // 2 :]] if cut else names
    with drawing(ax, height=0.7 + 0.15 * len(names)) as axis:
        whole = made.overall.mean
        axis.axvspan(whole.lower, whole.upper, color=PEOPLE, alpha=0.35, lw=0)
        axis.axvline(whole.mean, color=INK, lw=0.6, ls=":")
        for row, name in enumerate(names):
            population = made.groups[name]
            ends = population.mean.lower, population.mean.upper
            axis.plot(ends, (row, row), color=OURS, lw=1.2, marker="", zorder=1)
            face = OURS if population.labels else "white"
            axis.plot(population.mean.mean, row, color=OURS, marker="o", mfc=face, ls="", zorder=2)
        interval = f"{100 * made.level:.0f} % interval"
        # One entry of a legend, for who draws one.
        axis.plot([], [], color=OURS, lw=1.2, marker="o", label=f"estimate, {interval}")
        if cut:
            axis.axhline(MOST / 2 - 0.5, color=INK, lw=0.6)
        labels = [f"{literal(name)} ({made.groups[name].labels})" for name in names]
        axis.set_yticks(range(len(names)), labels)
        axis.set_ylim(-0.7, len(names) - 0.3)
        axis.set_xlabel(f"mean label, {interval}")
        shown = f"{len(names)} of {len(made.groups)} shown, " if cut else ""
        axis.set_ylabel(f"{literal(by)} ({shown}labels)")
    return axis
