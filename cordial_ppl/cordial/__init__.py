"""The estimators that users meet: single calibrators, the stack of seven, and their files."""

from cordial_ppl.cordial.files import load
from cordial_ppl.cordial.single import (
    ChannelCalibrator,
    ProportionalOdds,
    TemperatureScaling,
    VectorScaling,
)
from cordial_ppl.cordial.stack import Cordial, ExpectedLoss, LogitStack

__all__ = [
    "ChannelCalibrator",
    "Cordial",
    "ExpectedLoss",
    "LogitStack",
    "ProportionalOdds",
    "TemperatureScaling",
    "VectorScaling",
    "load",
]
