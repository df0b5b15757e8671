"""Readings made from a known process: for the demonstration, the benchmark and the tests."""

from cordial_ppl.evaluation.synthetic.people import Raters, Reader
from cordial_ppl.evaluation.synthetic.tasks import SPLITS, TASKS, SyntheticTask, benchmark, reviews

__all__ = ["SPLITS", "TASKS", "Raters", "Reader", "SyntheticTask", "benchmark", "reviews"]
