"""What comes of asking people: cost and agreement against the share of the texts that they see."""

from cordial_ppl.decisions.deciding import Decisions
from cordial_ppl.errors import InputError
from cordial_ppl.plots.figure import INK, OURS, RAW, Axes, drawing


def decisions(made: Decisions, *, ax: Axes | None = None) -> Axes:
    """Draw how the rest agrees with people, and what a text costs, if people see the most doubtful.

    Args:
        made: decisions, from ``Stack.decide``.
        ax: where to draw.

    Returns:
        The axis.

    Raises:
        InputError: matplotlib is not installed, or all texts have labels.
    """
    curve, people = made.curve, made.curve["people"]
    if not len(people):
        raise InputError("all texts have labels, which decide: there is nothing to draw.")
    with drawing(ax) as axis:
        band = {"color": OURS, "alpha": 0.2, "lw": 0, "label": "90 % interval"}
        axis.fill_between(people, curve["low"], curve["high"], **band)
        axis.plot(people, curve["agreement"], color=OURS, marker="", label="the rest agrees")
        share = made.ways["as decided"][0]
        axis.axvline(share, color=INK, lw=1, ls=":", label=f"as decided: {share:.0%}")
        axis.set(xlabel="share of the texts that people see", xlim=(-0.02, 1.02))
        axis.set_ylabel("agreement of the rest with people", color=OURS)
        if made.agree is not None:
            kept = f"to be kept: {made.agree:g}"
            axis.axhline(made.agree, color=INK, lw=0.6, ls="--", label=kept)
        handles = axis.get_legend_handles_labels()
        if made.agree is None:
            costs = axis.twinx()
            costs.plot(people, curve["cost"], color=RAW, marker="", ls="--", label="cost a text")
            costs.set_ylim(0, None)
            costs.set_ylabel("expected cost a text", color=RAW)
            more = costs.get_legend_handles_labels()
            handles = [each + other for each, other in zip(handles, more, strict=True)]
        axis.legend(*handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return axis
