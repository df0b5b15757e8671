"""Where an unrestricted calibrator overtakes, as observed; `scores.crossover` is the prediction."""

from collections.abc import Mapping

from cordial_ppl.analyses.interval import Interval


def first_lead(intervals: Mapping[int, Interval]) -> float:
    """Return the least number of labels at which the other method leads with a resolved interval.

    Args:
        intervals: For each number of labels, the interval of the other method's loss minus ours.

    Returns:
        A number of labels; infinite where the other never leads.
    """
    leads = [n for n, interval in intervals.items() if interval.upper < 0]
    return float(min(leads, default=float("inf")))
