"""Pictures of a reader and of what calibration makes of it: a function each, an axis in and out.

Without an axis, a function makes a figure of the width of a column. Colours are those
that colour-blind readers can tell apart; marks and dashes differ too. Needs matplotlib
(``pip install -e ".[plots]"``), which is imported when something is drawn.
"""

from cordial_ppl.plots.curves import decisions, forecast, learning_curve
from cordial_ppl.plots.ranked import agreement, groups, weights
from cordial_ppl.plots.reliability import stated_classes, thresholds
from cordial_ppl.plots.transfer import label_shares, transfer_curve

__all__ = [
    "agreement",
    "decisions",
    "forecast",
    "groups",
    "label_shares",
    "learning_curve",
    "stated_classes",
    "thresholds",
    "transfer_curve",
    "weights",
]
