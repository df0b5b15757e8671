"""What a comparison of calibrators concludes: intervals, reversals, label equivalents.

Pure functions of probabilities, labels and losses.
"""

from cordial_ppl.analyses.equivalents import label_equivalents
from cordial_ppl.analyses.interval import Interval, paired_interval, paired_intervals
from cordial_ppl.analyses.stated import (
    labels_given_stated,
    predictions_given_stated,
    reversed_fits,
    saturated_readings,
)

__all__ = [
    "Interval",
    "label_equivalents",
    "labels_given_stated",
    "paired_interval",
    "paired_intervals",
    "predictions_given_stated",
    "reversed_fits",
    "saturated_readings",
]
