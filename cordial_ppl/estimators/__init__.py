"""The estimators: single calibrators, stacks of several, and how these are loaded."""

from cordial_ppl.estimators.named import Cordial, FullChannelStack, LogitStack, ScalarStack, load
from cordial_ppl.estimators.single import (
    BatchCalibration,
    ChannelCalibrator,
    DirichletCalibration,
    LabelHistogram,
    ProportionalOdds,
    RawReading,
    TemperatureScaling,
    VectorScaling,
)
from cordial_ppl.stack.weighing import ExpectedLoss

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
