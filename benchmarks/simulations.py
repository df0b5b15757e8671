"""Simulation-based calibration of every channel, by the default and by the literal method.

Parameters are drawn from the prior and labels of twenty made-up reviews from the channel; each of
200 data sets is fitted, and the truth ranked among the draws.  For each channel and method: the
p-value of the least uniform quantity (two tests, times their number over all quantities).
"""

from functools import partial
from itertools import product

from measurement import Line, Measurement, list_records

from cordial_ppl.channels import CHANNELS
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.evaluation.checks.exactness import check_simulation, simulate
from cordial_ppl.evaluation.checks.trial import make_trial

SETS = 200


def run(draw: int, name: str, method: str, sets: int = SETS) -> Line:
    """Simulate, fit and test the ranks of the truth."""
    made = check_simulation(simulate(make_trial(load_channel(name), draw), sets, method=method))
    tests = sum(len(made.figures[name]) for name in ("ks", "spread"))
    return {"status": made.status, "p": made.figures["p"], "tests": tests}


MEASUREMENTS = (
    Measurement(
        "simulations",
        lambda draw: product(CHANNELS, ("default", "laplace")),
        run,
        partial(list_records, names="channel method"),
        1,
        needs_data=False,
    ),
)
