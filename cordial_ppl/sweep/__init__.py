"""Comparisons of calibrators on many subsets of the labels: the file, the run and its results.

`methods` and `config` say what is compared, `tasks` loads the texts and draws the subsets, `run`
makes one `cell` after the other, which `scoring` fills, and `results` is what is left.
"""

from cordial_ppl.sweep.config import SweepConfig, TaskSource, parse_config, read_config
from cordial_ppl.sweep.methods import METHODS, NINE, External, Method
from cordial_ppl.sweep.results import Results
from cordial_ppl.sweep.run import Progress, run_sweep

__all__ = [
    "METHODS",
    "NINE",
    "External",
    "Method",
    "Progress",
    "Results",
    "SweepConfig",
    "TaskSource",
    "parse_config",
    "read_config",
    "run_sweep",
]
