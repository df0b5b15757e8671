"""Pictures of a reader and of what calibration makes of it: a function each, an axis in and out.

Without an axis, a function makes a figure of the width of a column. Colours are those
that colour-blind readers can tell apart; marks and dashes differ too. Needs matplotlib
(``pip install -e ".[plots]"``), which is imported when something is drawn.
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
