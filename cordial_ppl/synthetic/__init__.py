"""Readings made from a known process: for the demonstration, the benchmark and the tests.

`people` label and read texts; from them come `stars`, one reader of reviews, and `tasks`, the
benchmark. `gap` draws labels from a channel at a known distance from the affine family.
"""

from cordial_ppl.synthetic.gap import KnownGap, affine_channel, known_gap, nearest_affine
from cordial_ppl.synthetic.people import Raters, Reader
from cordial_ppl.synthetic.stars import SyntheticReadings, reviews
from cordial_ppl.synthetic.tasks import SPLITS, TASKS, SyntheticTask, benchmark

__all__ = [
    "SPLITS",
    "TASKS",
    "KnownGap",
    "Raters",
    "Reader",
    "SyntheticReadings",
    "SyntheticTask",
    "affine_channel",
    "benchmark",
    "known_gap",
    "nearest_affine",
    "reviews",
]
