"""Comparisons of calibrators on many subsets of the labels: the file, the run and its results.

`methods` and `config` say what is compared, `tasks` loads the texts and draws the subsets, `plan`
finds what is still to be done, `run` fits, `scoring` scores, and `results` is what is left.
"""

from cordial_ppl.evaluation.sweep.config import SweepConfig, TaskSource, parse_config, read_config
from cordial_ppl.evaluation.sweep.methods import METHODS, NINE, External, Method
from cordial_ppl.evaluation.sweep.results import Results
from cordial_ppl.evaluation.sweep.run import run_sweep

__all__ = [
    "METHODS",
    "NINE",
    "External",
    "Method",
    "Results",
    "SweepConfig",
    "TaskSource",
    "parse_config",
    "read_config",
    "run_sweep",
]
