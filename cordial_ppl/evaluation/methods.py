"""The methods that a sweep compares: calibrators by name, channels, and estimators."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from cordial_ppl.channels import CHANNELS
from cordial_ppl.data.checks import check_list
from cordial_ppl.errors import InputError, naming
from cordial_ppl.estimators import named, single
from cordial_ppl.estimators.estimator import Estimator

STACKS = {
    "logit-stack": named.LogitStack,
    "scalar-stack": named.ScalarStack,
    "full-stack": named.FullChannelStack,
    "paper": named.Cordial,
}
"""The stacks of the paper, by name; each has one pseudo-count for each member."""

METHODS: Mapping[str, Callable[[], Estimator[Any]]] = {
    "raw": single.RawReading,
    "histogram": single.LabelHistogram,
    "batch": single.BatchCalibration,
    "temperature": single.TemperatureScaling,
    "vector": single.VectorScaling,
    "odds": partial(single.ProportionalOdds, penalty="cv"),
    "odds-fixed": single.ProportionalOdds,
    "dirichlet": single.DirichletCalibration,
    **{name: kind.paper for name, kind in STACKS.items()},
    **{f"{name}-flat": partial(kind.paper, weights="flat") for name, kind in STACKS.items()},
    "cordial": named.Cordial,
}
"""What each name stands for."""

NINE = ("temperature", "vector", "odds", "odds-fixed", "dirichlet", *STACKS)
"""The paper's nine calibrators: those of its Table 1, and the regression within its stack."""


def make_methods(
    methods: Iterable[str] | Mapping[str, Estimator[Any]],
) -> dict[str, Estimator[Any]]:
    """Make unfitted estimators by name.

    Args:
        methods: names of ``METHODS``, of channels, which are fitted by themselves, and paths of
            channel files, which go by the name of the file without ``.py``; or estimators by name.

    Raises:
        InputError: there is no such method, two have one name, or a setting cannot be used.
        ChannelError: a file does not hold a channel.
    """
    made: dict[str, Estimator[Any]] = dict(methods) if isinstance(methods, Mapping) else {}
    for name in () if isinstance(methods, Mapping) else check_list("methods", methods):
        title = Path(name).stem if name.endswith(".py") else name
        if title in made:
            raise InputError(f"two methods are called {title!r}. Name each method once.")
        if not (name in METHODS or name in CHANNELS or name.endswith(".py")):
            raise InputError(
                f"unknown method {name!r}. Use one of {', '.join(METHODS)}, a channel "
                f"({', '.join(CHANNELS)}) or the path of a channel file."
            )
        made[title] = METHODS[name]() if name in METHODS else single.ChannelCalibrator(name)
    if not made:
        raise InputError("a sweep needs at least one method.")
    for name, estimator in made.items():
        with naming(f"method {name!r}"):
            _ = estimator.settings  # Validates them, and reads channel files.
    return made
