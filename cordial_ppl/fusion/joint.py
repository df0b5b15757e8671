"""The channel over all readers as a member of a fusion, and what else is no single reader's."""

from cordial_ppl.channel import Channel
from cordial_ppl.channels.readers import location_readers

JOINT = Channel("joint channel", location_readers)
"""The location channel over all readers."""

AVERAGE = "average reading"
"""The member whose stack sees the readers' average."""

COUNTS = {AVERAGE: 3.0, JOINT.name: 0.5}
READER_COUNT = 0.25
"""Dirichlet pseudo-counts of the weights: most on the average, which few labels serve best.

On real readings this predicts better than one count for each member (``benchmarks/fusion.py``,
whose readings it was chosen on).
"""
