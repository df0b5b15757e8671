"""The methods that a sweep compares: calibrators by name, and variants that a file describes."""

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from cordial_ppl.estimators.estimator import Estimator
from cordial_ppl.estimators.named import Cordial, FullChannelStack, LogitStack, ScalarStack
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


class Kind(NamedTuple):
    """A calibrator that a sweep knows by name.

    Attributes:
        label: what tables and figures call it.
        make: makes the estimator, of settings.
        settings: what a variant may set; one without any has no variants.
    """

    label: str
    make: Callable[..., Estimator]
    settings: tuple[str, ...] = ()


METHODS: Mapping[str, Kind] = {
    "raw": Kind("Raw reading", RawReading),
    "histogram": Kind("Label histogram", LabelHistogram),
    "batch": Kind("Batch calibration", BatchCalibration),
    "temperature": Kind("Temperature", TemperatureScaling),
    "vector": Kind("Vector scaling", VectorScaling),
    "odds": Kind("Ordinal regression", partial(ProportionalOdds, penalty="cv")),
    "odds-fixed": Kind("Ordinal, fixed penalty", ProportionalOdds),
    "dirichlet": Kind("Dirichlet", DirichletCalibration),
    "logit-stack": Kind("Logit stack (LS)", LogitStack, ("weight_counts",)),
    "scalar-stack": Kind(
        "LS + scalar channels",
        partial(ScalarStack, inference="laplace"),
        ("inference", "weight_counts"),
    ),
    "full-stack": Kind("LS + full channels", FullChannelStack, ("weight_counts",)),
    "paper": Kind("CORDIAL, literal", Cordial.paper, ("inference", "prior")),
    "paper-one-count": Kind("CORDIAL, one count", partial(Cordial.paper, weights="one-count")),
    "cordial": Kind(
        "CORDIAL, default", Cordial, ("inference", "channels", "prior", "weight_counts")
    ),
    "channel": Kind("channel", ChannelCalibrator, ("channel", "inference", "prior")),
}
"""What each name stands for."""

NINE = (
    *("temperature", "vector", "odds", "odds-fixed", "dirichlet"),
    *("logit-stack", "scalar-stack", "full-stack", "paper"),
)
"""The paper's nine calibrators: those of its Table 1, and the regression within its stack."""


class Method(msgspec.Struct, frozen=True):
    """A method of a sweep.

    Attributes:
        name: what the results call it.
        base: one of `METHODS`.
        settings: settings of the estimator that differ from the base's.
    """

    name: str
    base: str
    settings: Mapping[str, Any] = {}

    def build(self, seed: int) -> Estimator:
        """Make the estimator of one draw of labels.

        Raises:
            InputError: the estimator has no such setting.
            ChannelError: there is no such channel.
        """
        kind = METHODS[self.base]
        seeded = {"seed": seed} if "seed" in signature(kind.make).parameters else {}
        estimator = kind.make(**seeded, **self.settings)
        _ = estimator.settings  # Validates them.
        return estimator


class External(msgspec.Struct, frozen=True):
    """Probabilities from another program, such as by in-context demonstrations.

    Attributes:
        name: what the results call it.
        probabilities: a table with `item_id`, `p_<option>` columns and, where they depend on them,
            `task`, `reader`, `n` and `draw`.
    """

    name: str
    probabilities: Path


def label(name: str) -> str:
    """Return a method's name in tables and figures; one that a file describes keeps its own."""
    return METHODS[name].label if name in METHODS else name
