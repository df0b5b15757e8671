"""What a comparison of calibrators concludes: pure functions of probabilities and losses."""

from cordial_ppl.analyses.interval import Interval, paired_interval, paired_intervals
from cordial_ppl.analyses.stated import predictions_given_stated, saturated_readings

__all__ = [
    "Interval",
    "paired_interval",
    "paired_intervals",
    "predictions_given_stated",
    "saturated_readings",
]
