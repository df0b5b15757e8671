"""Readings made from a known process: for the demonstration, the benchmark and the tests.

`people` label and read texts; from them come `stars`, one reader of reviews, and `tasks`, the
benchmark.
"""

from cordial_ppl.synthetic.people import Raters, Reader
from cordial_ppl.synthetic.stars import SyntheticReadings, reviews
from cordial_ppl.synthetic.tasks import SPLITS, TASKS, SyntheticTask, benchmark

__all__ = [
    "SPLITS",
    "TASKS",
    "Raters",
    "Reader",
    "SyntheticReadings",
    "SyntheticTask",
    "benchmark",
    "reviews",
]
