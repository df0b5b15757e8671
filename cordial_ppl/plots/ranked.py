"""What is compared: groups by their means, members by their weights, people by agreement."""

import numpy as np

from cordial_ppl.decisions.agreement import MEASURES, Agreement
from cordial_ppl.decisions.answers import as_fit
from cordial_ppl.decisions.estimates.estimate import Estimate
from cordial_ppl.decisions.question import TARGETS
from cordial_ppl.errors import InputError
from cordial_ppl.estimators.fusion import Fusion
from cordial_ppl.estimators.fusion.fusion_fit import FusionFit
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.plots.figure import (
    CHANNEL,
    INK,
    OURS,
    PEOPLE,
    RAW,
    Axes,
    drawing,
    literal,
    wrap,
)
from cordial_ppl.stack.fit import AnyFit

MOST = 60
"""Groups that are drawn; of more, those at both ends."""

COLORS = {"people": INK, "judge": RAW, "calibrated": OURS, "at most": PEOPLE}
"""Colours by whose agreement is drawn."""


def groups(made: Estimate, *, by: str = "group", ax: Axes | None = None) -> Axes:
    """Plot the mean label of each group, the best at the top.

    Lines are intervals. The number of labels is beside each name, and a hollow mark is a group
    without labels. The vertical line is the mean of all texts, with its interval. If there are more
    than sixty groups, the thirty best and the thirty worst are shown.

    Args:
        made: an estimate with groups, from ``Stack.estimate``.
        by: what the groups are, such as "system".
        ax: the axis to draw on; by default a new one.

    Returns:
        The axis.

    Raises:
        InputError: the estimate has no groups, or matplotlib is not installed.
    """
    if not made.groups:
        raise InputError("this estimate has no groups. Pass groups when you call estimate.")
    names, whole, cut = list(made.ranking[::-1]), made.overall.mean, ""
    if len(names) > MOST:
        cut = f"; {MOST} of {len(names)} shown"
        names = names[: MOST // 2] + names[-MOST // 2 :]
    interval, shown = f"{100 * made.level:.0f} % interval", [made.groups[name] for name in names]
    means, *ends = zip(*(each.mean[:3] for each in shown), strict=True)
    with drawing(ax, height=0.7 + 0.15 * len(names)) as axis:
        axis.axvspan(whole.lower, whole.upper, color=PEOPLE, alpha=0.35, lw=0)
        axis.axvline(whole.mean, color=INK, lw=0.6, ls=":")
        axis.hlines(range(len(names)), *ends, color=OURS, lw=1.2)
        # One entry of a legend, for who draws one.
        axis.plot([], [], color=OURS, lw=1.2, marker="o", label=f"estimate, {interval}")
        for row, each in enumerate(shown):
            axis.plot(means[row], row, "o", color=OURS, mfc=OURS if each.labels else "white")
        if cut:
            axis.axhline(len(names) / 2 - 0.5, color=INK, lw=0.6)
        labels = (f"{literal(n)} ({e.labels})" for n, e in zip(names, shown, strict=True))
        axis.set_yticks(range(len(names)), labels)
        axis.set_ylim(-0.7, len(names) - 0.3)
        kind = "texts like these" if made.of == TARGETS[0] else "these texts"
        axis.set(xlabel=f"mean label of {kind}, {interval}", ylabel=f"{literal(by)} (labels{cut})")
    return axis


def agreement(made: Agreement, *, ax: Axes | None = None) -> Axes:
    """Plot agreement among people, and between people and judges, by measure.

    Args:
        made: the result of ``cp.agreement``.
        ax: the axis to draw on; by default a new one.

    Returns:
        The axis.

    Raises:
        InputError: matplotlib is not installed.
    """
    kinds = [*made.values]
    with drawing(ax, height=2.8) as axis:
        for order, of in enumerate(kinds):
            kept = [k for k, name in enumerate(MEASURES) if name in made.values[of]]
            means, *ends = zip(*(made.values[of][[*MEASURES][k]] for k in kept), strict=True)
            rows = np.array(kept) + (order - len(kinds) / 2 + 0.5) / (1 + len(kinds))
            axis.hlines(rows, *ends, color=COLORS.get(of, CHANNEL), lw=1.2)
            axis.plot(means, rows, "oDs^v"[order % 5], color=COLORS.get(of, CHANNEL), label=of)
        axis.set_yticks(range(len(MEASURES)), [wrap(name, 18) for name in MEASURES.values()])
        axis.invert_yaxis()
        axis.set_xlabel(f"agreement, {100 * made.level:.0f} % intervals")
        axis.legend(ncols=4, loc="lower left", bbox_to_anchor=(0, 1))
    return axis


def weights(calibrator: Stack | Fusion, *, ax: Axes | None = None) -> Axes:
    """Plot the members' weights as bars, the largest on top.

    Channels and calibrators have different colours; in a fusion, members that use one judge and
    members that use all judges have different colours.

    Args:
        calibrator: a fitted stack, or a fitted fusion of several judges.
        ax: the axis to draw on; by default a new one.

    Returns:
        The axis.

    Raises:
        NotFittedError: ``fit`` has not been called.
        InputError: matplotlib is not installed.
    """
    fit = as_fit(calibrator, AnyFit)
    fusion = isinstance(fit, FusionFit)
    single = fit.readers if fusion else fit.posteriors
    kinds = ("judges", "all judges") if fusion else ("channels", "calibrators")
    ranked = sorted(fit.weights.items(), key=lambda item: item[1])
    with drawing(ax, height=0.5 + 0.17 * len(ranked)) as axis:
        for kind, color, wanted in ((kinds[0], OURS, True), (kinds[1], CHANNEL, False)):
            if rows := [k for k, (name, _) in enumerate(ranked) if (name in single) is wanted]:
                bars = axis.barh(rows, [ranked[k][1] for k in rows], color=color, label=kind)
                axis.bar_label(bars, fmt="%.2f", padding=2, fontsize="small")
        axis.set_yticks(range(len(ranked)), [literal(name) for name, _ in ranked])
        axis.set(xlim=(0, 1.15 * ranked[-1][1]), xlabel="weight")
        axis.legend(loc="lower right")
    return axis
