"""Several readers of the same texts: each calibrated by itself, then weighted together."""

from cordial_ppl.estimators.fusion.fusion import Fusion as Fusion
from cordial_ppl.estimators.fusion.fusion import load as load
