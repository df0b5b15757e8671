"""Several readers of the same texts: each calibrated by itself, then weighed together."""

from cordial_ppl.fusion.comparisons import ConcatenatedDirichlet, LogitFusion, average_reading
from cordial_ppl.fusion.fusion import Fusion

__all__ = ["ConcatenatedDirichlet", "Fusion", "LogitFusion", "average_reading"]
