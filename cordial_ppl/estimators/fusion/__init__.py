"""Several readers of the same texts: each calibrated by itself, then weighted together."""

from cordial_ppl.estimators.fusion.files import load
from cordial_ppl.estimators.fusion.fusion import Fusion

__all__ = ["Fusion", "load"]
