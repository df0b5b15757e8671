"""Checks of a channel: contract, density, order, posteriors, priors."""

from cordial_ppl.evaluation.checks.finding import Finding, Report
from cordial_ppl.evaluation.checks.order import violation
from cordial_ppl.evaluation.checks.run import check_channel
from cordial_ppl.evaluation.checks.simulation import Ranks, check_simulation, simulate

__all__ = [
    "Finding",
    "Ranks",
    "Report",
    "check_channel",
    "check_simulation",
    "simulate",
    "violation",
]
