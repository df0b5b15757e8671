"""How far each member of a stack, or each reader of a fusion, is believed."""

from cordial_ppl.decisions.answers import as_fit
from cordial_ppl.estimators.fusion import Fusion
from cordial_ppl.estimators.fusion.fusion_fit import FusionFit
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.plots.figure import CHANNEL, OURS, Axes, drawing, literal
from cordial_ppl.stack.fit import AnyFit


def weights(calibrator: Stack | Fusion, *, ax: Axes | None = None) -> Axes:
    """Draw the members' weights as bars, the largest on top.

    Channels (of a fusion: readers) are of one colour, logit-space calibrators (of a fusion: what
    sees all readers at once) of another.

    Args:
        calibrator: a fitted stack, or a fitted fusion of several readers.
        ax: where to draw.

    Returns:
        The axis.

    Raises:
        NotFittedError: there was no fit yet.
        InputError: matplotlib is not installed.
    """
    fit = as_fit(calibrator, AnyFit)
    fusion = isinstance(fit, FusionFit)
    single = fit.readers if fusion else fit.posteriors
    kinds = ("judges", "all judges") if fusion else ("channels", "calibrators")
    ranked = sorted(fit.weights.items(), key=lambda item: item[1])
    with drawing(ax, height=0.5 + 0.17 * len(ranked)) as axis:
        for kind, color, wanted in ((kinds[0], OURS, True), (kinds[1], CHANNEL, False)):
            rows = [k for k, (name, _) in enumerate(ranked) if (name in single) is wanted]
            if rows:
                bars = axis.barh(rows, [ranked[k][1] for k in rows], color=color, label=kind)
                axis.bar_label(bars, fmt="%.2f", padding=2, fontsize="small")
        axis.set_yticks(range(len(ranked)), [literal(name) for name, _ in ranked])
        axis.set_xlim(0, 1.15 * ranked[-1][1])
        axis.set_xlabel("weight")
        axis.legend(loc="lower right")
    return axis
