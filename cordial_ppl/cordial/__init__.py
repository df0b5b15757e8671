"""The estimators that users meet: single calibrators, the stack of seven, and their files."""

from cordial_ppl.cordial.comparisons import FullChannelStack, LogitStack, ScalarStack
from cordial_ppl.cordial.judges import Cordial, load
from cordial_ppl.cordial.single import (
    BatchCalibration,
    ChannelCalibrator,
    DirichletCalibration,
    LabelHistogram,
    ProportionalOdds,
    RawReading,
    TemperatureScaling,
    VectorScaling,
)
from cordial_ppl.cordial.weighing import ExpectedLoss

__all__ = [
    "BatchCalibration",
    "ChannelCalibrator",
    "Cordial",
    "DirichletCalibration",
    "ExpectedLoss",
    "FullChannelStack",
    "LabelHistogram",
    "LogitStack",
    "ProportionalOdds",
    "RawReading",
    "ScalarStack",
    "TemperatureScaling",
    "VectorScaling",
    "load",
]
