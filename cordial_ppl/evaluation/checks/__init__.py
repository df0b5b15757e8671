"""Checks of a channel: contract, density, what the prior predicts, posteriors."""

from cordial_ppl.evaluation.checks.checking import check_channel as check_channel
