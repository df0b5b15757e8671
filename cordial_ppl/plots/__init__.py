"""Plots of a judge before and after calibration; each function accepts and returns an axis.

Without an axis, a function creates a figure with the width of a column. Colour-blind people can
distinguish the colours, and marks and dashes differ, too. Plots need matplotlib
(``pip install -e ".[plots]"``), which is imported on first use.
"""

from cordial_ppl.plots.curves import decisions as decisions
from cordial_ppl.plots.curves import forecast as forecast
from cordial_ppl.plots.curves import learning_curve as learning_curve
from cordial_ppl.plots.ranked import agreement as agreement
from cordial_ppl.plots.ranked import groups as groups
from cordial_ppl.plots.ranked import weights as weights
from cordial_ppl.plots.reliability import stated_classes as stated_classes
from cordial_ppl.plots.reliability import thresholds as thresholds
from cordial_ppl.plots.transfer import label_shares as label_shares
from cordial_ppl.plots.transfer import transfer_curve as transfer_curve
