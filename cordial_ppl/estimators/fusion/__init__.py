"""Several readers of the same texts: each calibrated by itself, then weighted together."""

from cordial_ppl.estimators.fusion.fusion import Fusion, load

__all__ = ["Fusion", "load"]
