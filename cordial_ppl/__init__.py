"""Twenty labels turn a language model's ratings into calibrated probabilities.

The names below are loaded when they are first used, so that the command line starts at once.
"""

from importlib import import_module
from sys import modules
from types import ModuleType

from cordial_ppl.runtime import platform as _platform  # noqa: F401 - Forks are noted from now on.
from cordial_ppl.runtime.garbage import paused

TYPE_CHECKING = False  # To import `typing` takes as long as all that comes before the program.
if TYPE_CHECKING:
    from typing import Any

    from cordial_ppl import plots as plots
    from cordial_ppl import scores as scores
    from cordial_ppl.channels.channel import Channel as Channel
    from cordial_ppl.channels.channel import observe as observe
    from cordial_ppl.channels.channel import sample_log_odds as sample_log_odds
    from cordial_ppl.channels.kernel import expected as expected
    from cordial_ppl.channels.kernel import softmax as softmax
    from cordial_ppl.channels.user_effects import user_channel as user_channel
    from cordial_ppl.data.readings import Readings as Readings
    from cordial_ppl.data.readings import readings_from_counts as readings_from_counts
    from cordial_ppl.data.readings import readings_from_probabilities as readings_from_probabilities
    from cordial_ppl.data.readings import readings_from_ratings as readings_from_ratings
    from cordial_ppl.data.rounding import round_labels as round_labels
    from cordial_ppl.decisions.answers import check_labels as check_labels
    from cordial_ppl.decisions.answers import check_readings as check_readings
    from cordial_ppl.decisions.answers import describe as describe
    from cordial_ppl.decisions.answers import find_bias as find_bias
    from cordial_ppl.decisions.answers import monitor as monitor
    from cordial_ppl.decisions.answers import predict_draws as predict_draws
    from cordial_ppl.decisions.answers import verdict as verdict
    from cordial_ppl.decisions.estimates.estimate import Estimate as Estimate
    from cordial_ppl.decisions.forecasting import Forecast as Forecast
    from cordial_ppl.decisions.planning import Plan as Plan
    from cordial_ppl.decisions.planning import plan as plan
    from cordial_ppl.errors import ChannelError as ChannelError
    from cordial_ppl.errors import CordialError as CordialError
    from cordial_ppl.errors import CordialWarning as CordialWarning
    from cordial_ppl.errors import FileError as FileError
    from cordial_ppl.errors import InputError as InputError
    from cordial_ppl.errors import NotFittedError as NotFittedError
    from cordial_ppl.estimators.fusion import Fusion as Fusion
    from cordial_ppl.estimators.learning import learn_prior as learn_prior
    from cordial_ppl.estimators.named import Cordial as Cordial
    from cordial_ppl.estimators.named import FullChannelStack as FullChannelStack
    from cordial_ppl.estimators.named import LogitStack as LogitStack
    from cordial_ppl.estimators.named import ScalarStack as ScalarStack
    from cordial_ppl.estimators.saved import load as load
    from cordial_ppl.estimators.single import BatchCalibration as BatchCalibration
    from cordial_ppl.estimators.single import ChannelCalibrator as ChannelCalibrator
    from cordial_ppl.estimators.single import DirichletCalibration as DirichletCalibration
    from cordial_ppl.estimators.single import LabelHistogram as LabelHistogram
    from cordial_ppl.estimators.single import ProportionalOdds as ProportionalOdds
    from cordial_ppl.estimators.single import RawReading as RawReading
    from cordial_ppl.estimators.single import TemperatureScaling as TemperatureScaling
    from cordial_ppl.estimators.single import VectorScaling as VectorScaling
    from cordial_ppl.estimators.users import UserShift as UserShift
    from cordial_ppl.evaluation import synthetic as synthetic
    from cordial_ppl.inference.diagnostics import Diagnostics as Diagnostics
    from cordial_ppl.inference.fitting import fit_channel as fit_channel
    from cordial_ppl.inference.fitting import fit_laplace as fit_laplace
    from cordial_ppl.inference.fitting import fit_nuts as fit_nuts
    from cordial_ppl.inference.posterior import Posterior as Posterior
    from cordial_ppl.inference.priors import LearnedPrior as LearnedPrior
    from cordial_ppl.inference.priors import shipped_prior as shipped_prior
    from cordial_ppl.inference.sampler import Effort as Effort
    from cordial_ppl.inference.target import Prior as Prior
    from cordial_ppl.logs.collected import Collected as Collected
    from cordial_ppl.logs.harvest import read as read

_ROOMS = {
    "cordial_ppl.channels.channel": ("Channel", "observe", "sample_log_odds"),
    "cordial_ppl.channels.kernel": ("expected", "softmax"),
    "cordial_ppl.estimators.named": ("Cordial", "FullChannelStack", "LogitStack", "ScalarStack"),
    "cordial_ppl.estimators.single": (
        "BatchCalibration",
        "ChannelCalibrator",
        "DirichletCalibration",
        "LabelHistogram",
        "ProportionalOdds",
        "RawReading",
        "TemperatureScaling",
        "VectorScaling",
    ),
    "cordial_ppl.errors": (
        "ChannelError",
        "CordialError",
        "CordialWarning",
        "FileError",
        "InputError",
        "NotFittedError",
    ),
    "cordial_ppl.decisions.answers": (
        "check_labels",
        "check_readings",
        "describe",
        "find_bias",
        "monitor",
        "predict_draws",
        "verdict",
    ),
    "cordial_ppl.decisions.estimates.estimate": ("Estimate",),
    "cordial_ppl.decisions.forecasting": ("Forecast",),
    "cordial_ppl.logs.collected": ("Collected",),
    "cordial_ppl.logs.harvest": ("read",),
    "cordial_ppl.estimators.fusion": ("Fusion",),
    "cordial_ppl.inference.fitting": ("fit_channel", "fit_laplace", "fit_nuts"),
    "cordial_ppl.inference.diagnostics": ("Diagnostics",),
    "cordial_ppl.inference.posterior": ("Posterior",),
    "cordial_ppl.inference.target": ("Prior",),
    "cordial_ppl.inference.sampler": ("Effort",),
    "cordial_ppl.estimators.users": ("UserShift",),
    "cordial_ppl.channels.user_effects": ("user_channel",),
    "cordial_ppl.decisions.planning": ("Plan", "plan"),
    "cordial_ppl.estimators.learning": ("learn_prior",),
    "cordial_ppl.inference.priors": ("LearnedPrior", "shipped_prior"),
    "cordial_ppl.data.readings": (
        "Readings",
        "readings_from_counts",
        "readings_from_probabilities",
        "readings_from_ratings",
    ),
    "cordial_ppl.data.rounding": ("round_labels",),
    "cordial_ppl.estimators.saved": ("load",),
}
_MODULES = {"synthetic": "cordial_ppl.evaluation.synthetic"} | {
    name: f"cordial_ppl.{name}" for name in ("plots", "scores")
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> "Any":
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with paused():
        return getattr(import_module(_HOME[name]), name)


class _Alias(ModuleType):
    """Stand for a module that lies in another room, which is imported when it is used."""

    def __getattr__(self, name: str) -> "Any":
        return getattr(__getattr__("synthetic"), name)


# `import cordial_ppl.synthetic` asks for a module of that name.
modules[f"{__name__}.synthetic"] = _Alias("synthetic")


def __dir__() -> list[str]:
    return sorted([*_HOME, "scores", "synthetic"])
