"""Checks of a channel: contract, density, what the prior predicts, posteriors."""

from cordial_ppl.evaluation.checks.checking import check_channel
from cordial_ppl.evaluation.checks.exactness import Ranks, check_simulation, simulate
from cordial_ppl.evaluation.checks.finding import Finding, Report
from cordial_ppl.evaluation.checks.prior import violation

__all__ = [
    "Finding",
    "Ranks",
    "Report",
    "check_channel",
    "check_simulation",
    "simulate",
    "violation",
]
