"""What comes of asking people: cost and agreement against the share of the texts that they see."""

from cordial_ppl.decisions.deciding import Decisions
from cordial_ppl.evaluation.products.figure import INK
from cordial_ppl.plots.axis import OURS, RAW, Axes, drawing


def decisions(made: Decisions, *, ax: Axes | None = None) -> Axes:
    """Draw how the rest agrees with people, and what a text costs, if people see the most doubtful.

    The band holds 90 %; the dotted line is the share that goes to people.

    Args:
        made: decisions, from ``Stack.decide``.
        ax: where to draw.

    Returns:
        The axis.

    Raises:
        InputError: matplotlib is not installed.
    """
    curve, people = made.curve, made.curve["people"]
    with drawing(ax) as axis:
        axis.fill_between(people, curve["low"], curve["high"], color=OURS, alpha=0.2, lw=0)
        axis.plot(people, curve["agreement"], color=OURS, marker="", label="the rest agrees")
        axis.axvline(made.ways["as decided"][0], color=INK, lw=0.6, ls=":")
        axis.set(xlabel="share of the texts that people see", xlim=(0, 1))
        axis.set_ylabel("agreement of the rest with people", color=OURS)
        if made.agree is not None:
            axis.axhline(made.agree, color=INK, lw=0.6, ls="--")
        else:
            costs = axis.twinx()
            costs.plot(people, curve["cost"], color=RAW, marker="", ls="--", label="cost a text")
            costs.set_ylim(0, None)
            costs.set_ylabel("expected cost a text", color=RAW)
    return axis
