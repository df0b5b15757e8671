"""The methods that a sweep compares: calibrators by name, and variants that a file describes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cordial_ppl.cordial import (
    BatchCalibration,
    ChannelCalibrator,
    Cordial,
    DirichletCalibration,
    FullChannelStack,
    LabelHistogram,
    LogitStack,
    ProportionalOdds,
    RawReading,
    ScalarStack,
    TemperatureScaling,
    VectorScaling,
)
from cordial_ppl.cordial.estimator import Estimator

METHODS: Mapping[str, Callable[..., Estimator]] = {
    "raw": lambda seed, **own: RawReading(**own),
    "histogram": lambda seed, **own: LabelHistogram(**own),
    "batch": lambda seed, **own: BatchCalibration(**own),
    "temperature": lambda seed, **own: TemperatureScaling(**own),
    "vector": lambda seed, **own: VectorScaling(**own),
    "odds": lambda seed, **own: ProportionalOdds(penalty="cv", **own),
    "odds-fixed": lambda seed, **own: ProportionalOdds(**own),
    "dirichlet": lambda seed, **own: DirichletCalibration(**own),
    "logit-stack": lambda seed, **own: LogitStack(seed=seed, **own),
    "scalar-stack": lambda seed, **own: ScalarStack(seed=seed, **{"inference": "laplace", **own}),
    "full-stack": lambda seed, **own: FullChannelStack(seed=seed, **own),
    "paper": lambda seed, **own: Cordial.paper(seed=seed, **own),
    "paper-one-count": lambda seed, **own: Cordial.paper(seed=seed, weights="one-count", **own),
    "cordial": lambda seed, **own: Cordial(seed=seed, **own),
    "channel": lambda seed, **own: ChannelCalibrator(seed=seed, **own),
}
"""What each name makes of a seed and of further settings."""

LABELS = {
    "raw": "Raw reading",
    "histogram": "Label histogram",
    "batch": "Batch calibration",
    "temperature": "Temperature",
    "vector": "Vector scaling",
    "odds": "Ordinal regression",
    "odds-fixed": "Ordinal, fixed penalty",
    "dirichlet": "Dirichlet",
    "logit-stack": "Logit stack (LS)",
    "scalar-stack": "LS + scalar channels",
    "full-stack": "LS + full channels",
    "paper": "CORDIAL, literal",
    "paper-one-count": "CORDIAL, one count",
    "cordial": "CORDIAL, default",
}
"""What tables and figures call a method; one that a file describes goes by its own name."""

NINE = (
    "raw",
    "temperature",
    "vector",
    "odds",
    "dirichlet",
    "logit-stack",
    "scalar-stack",
    "full-stack",
    "paper",
)
"""The methods of the paper's Table 1."""

SETTINGS: Mapping[str, tuple[str, ...]] = {
    "cordial": ("inference", "channels", "prior", "weight_counts"),
    "logit-stack": ("weight_counts",),
    "scalar-stack": ("inference", "weight_counts"),
    "full-stack": ("weight_counts",),
    "channel": ("channel", "inference", "prior"),
}
"""What a variant may set, by the method that it is a variant of."""


@dataclass(frozen=True)
class Method:
    """A method of a sweep.

    Attributes:
        name: what the results call it.
        base: one of `METHODS`.
        settings: settings of the estimator that differ from the base's.
    """

    name: str
    base: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def build(self, seed: int) -> Estimator:
        """Make the estimator of one draw of labels.

        Raises:
            InputError: the estimator has no such setting.
            ChannelError: there is no such channel.
        """
        estimator = METHODS[self.base](seed, **self.settings)
        estimator.parts(0)  # Validates the settings.
        return estimator


@dataclass(frozen=True)
class External:
    """Probabilities from another program, such as by in-context demonstrations.

    Attributes:
        name: what the results call it.
        path: a table with `item_id`, `p_<option>` columns and, where they depend on them, `task`,
            `reader`, `n` and `draw`.
    """

    name: str
    path: Path


def label(name: str) -> str:
    """What tables and figures call a method."""
    return LABELS.get(name, name)
