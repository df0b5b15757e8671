r"""What a prior is learned from: fits of channels to tasks, the units they share, and a rule.

A parameter in classes to the power p is divided by ``(K - 1)^p``: the offset d by K - 1, and
``log kappa + 2 log(K - 1)`` is log kappa in units of the scale's length.  Temperature, gain and
strength have no unit.

Logits come with any factor: log-probabilities of tokens, of whole answers, logarithms of smoothed
counts.  A factor on a reader's logits is a factor on its temperature, which is therefore in units
of the readings' spread.
"""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from jaxtyping import Float
from msgspec import Meta

from cordial_ppl.errors import InputError, SettingNeeded
from cordial_ppl.inference.sites import Site
from cordial_ppl.inference.target import Prior, Target

POWERS: Mapping[str, float] = {
    **dict.fromkeys(("temperature", "gain", "strength", "form", "tilt"), 0.0),
    "offset": 1.0,
    "concentration": -2.0,
}
"""Power of classes in the unit of the built-in channels' parameters."""

TEMPERATURE = "temperature"
TYPICAL_SPREAD = 3.3
"""Spread (nats) of readings that the paper's prior, a temperature about 2, is meant for."""

LONGEST = 5
"""Options up to which the paper's priors of offset and concentration hold in classes; on longer
scales they hold in units of the length."""

FLAT = 1e-6
"""Spread, nats, below which readings differ by rounding alone."""


class Unit(NamedTuple):
    """How an unconstrained parameter is expressed in its unit: ``(value + shift) * factor``."""

    shift: float
    factor: float

    def express(self, value: Any) -> Any:
        """Express an unconstrained parameter in this unit."""
        return (value + self.shift) * self.factor

    def read(self, value: Any) -> Any:
        """Return the unconstrained parameter of a value in this unit."""
        return value / self.factor - self.shift


class RelativePrior(NamedTuple):
    """A prior that depends on the spread of the readings.

    Attributes:
        loc: location of each unconstrained parameter for readings of typical spread.
        scale: its scale, for readings of any spread.
        slope: change of the location with the log of the spread: 1 for a temperature.
    """

    loc: Float[np.ndarray, " P"]
    scale: Float[np.ndarray, " P"]
    slope: Float[np.ndarray, " P"]

    def of(self, target: Target, spread: float = TYPICAL_SPREAD) -> Prior:
        """Derive the prior of a channel; arguments and errors are those of ``NamedPrior.of``."""
        loc, scale = target.check_prior(Prior(self.loc, self.scale))
        return Prior(loc + self.slope * np.log(spread / TYPICAL_SPREAD), scale)


def reading_spread(
    logits: Float[np.ndarray, "n *readers K"], weights: Float[np.ndarray, " n"] | None = None
) -> float:
    r"""Spread of readings in nats, :math:`n^{-1} \sum_i \sqrt{K^{-1} \sum_k l_{ik}^2}`.

    Args:
        logits: centred logits; NaN where a reader has not read a text.
        weights: of the texts in the mean; one by default.

    Returns:
        The mean over texts of the root mean square of their logits; `TYPICAL_SPREAD` where all
        readings are flat.
    """
    each = np.sqrt(np.mean(np.square(logits), axis=-1))
    seen = np.isfinite(each)
    counted = np.ones(len(each)) if weights is None else weights
    shares = np.broadcast_to(counted.reshape(-1, *[1] * (each.ndim - 1)), each.shape)[seen]
    spread = float((shares * each[seen]).sum() / shares.sum()) if seen.any() else 0.0
    return spread if spread > FLAT else TYPICAL_SPREAD


def unit(site: Site, size: int, powers: Mapping[str, float], spread: float = 1.0) -> Unit:
    """Return the unit of a parameter on a scale of K options.

    Args:
        site: the parameter.
        size: number of options K.
        powers: power of classes in each parameter's unit; 0 for those not named.
        spread: unit of the temperature.

    Raises:
        InputError: a parameter between bounds has a unit.
    """
    power, length = powers.get(site.parameter, 0.0), float(size - 1)
    if site.kind == "ExpTransform":
        log_spread = np.log(spread) if site.parameter == TEMPERATURE else 0.0
        return Unit(float(-power * np.log(length) - log_spread), 1.0)
    if site.kind == "IdentityTransform":
        return Unit(0.0, length**-power)
    if power:
        raise InputError(
            f"parameter {site.parameter!r} is bounded, so it cannot have a unit. Remove "
            f"{site.parameter!r} from units."
        )
    return Unit(0.0, 1.0)


def check_powers(target: Target, sizes: set[int], powers: Mapping[str, float]) -> None:
    """Refuse to compare parameters of unknown unit on scales of different length.

    Args:
        target: the channel.
        sizes: the numbers of options K of all tasks.
        powers: power of classes in each parameter's unit.

    Raises:
        SettingNeeded: there are several K, and a parameter has no known unit.
    """
    unknown = [s.parameter for s in target.sites if not s.shape and s.parameter not in powers]
    if unknown and len(sizes) > 1:
        raise SettingNeeded(
            f"tasks have {' and '.join(map(str, sorted(sizes)))} options, but the unit of "
            f"parameter {unknown[0]!r} in channel {target.channel.name!r} is unknown.",
            "Use tasks with the same number of options, or set the power p if the parameter "
            "scales as (number of options)^p (p = 0 for a constant)",
            "units",
            {unknown[0]: 0},
        )


FURTHEST = 1e9
"""Modes and spreads in a file lie below it, spreads above its inverse."""
ModeNumber = Annotated[float, Meta(ge=-FURTHEST, le=FURTHEST)]

Move = Annotated[float, Meta(ge=-10, le=10)]

CAUTION = {"cautious": 3, "paper": 0}
"""Power of the weight w by the name of the rule."""


class TaskFit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fits to one task as one reader reads it.

    Attributes:
        task: name of the task.
        reader: name of the reader; empty where a task has but one.
        counts: how often each of the K options is the label.
        modes: posterior modes of the unconstrained parameters, by channel and by site.
        spread: of the readings, nats.
    """

    task: str
    reader: str
    counts: Annotated[list[Annotated[int, Meta(ge=0)]], Meta(min_length=2)]
    modes: dict[str, dict[str, list[ModeNumber]]]
    spread: Annotated[float, Meta(gt=1 / FURTHEST, lt=FURTHEST)] = TYPICAL_SPREAD

    @property
    def size(self) -> int:
        """Number of options K."""
        return len(self.counts)

    @property
    def name(self) -> str:
        """The task, and the reader if it has a name."""
        return f"{self.task}, {self.reader}" if self.reader else self.task


class LearnedChannel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A channel that was fitted.

    Attributes:
        digest: SHA-256 of the channel's file; empty for a channel that has a name.
        covariates: names of the covariates that it was fitted with.
    """

    digest: str = ""
    covariates: tuple[str, ...] = ()


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a prior follows from the fits.

    Attributes:
        name: "cautious", or "paper", where temperatures are not in units of the readings' spread.
        vector: whether parameters of single options are learned, from tasks of the same K.
        units: power of classes in the unit of further parameters, by name.
        adjustments: of a trained prior, by channel and site, by how many of its scales the location
            of the cautious rule moves, and the log of the factor of its scale.
        counts: of a trained prior, the pseudo-counts of the weights of a stack's members.
    """

    name: str = "cautious"
    vector: bool = True
    units: dict[str, float] = {}
    adjustments: dict[str, dict[str, tuple[Move, Move]]] = {}
    counts: dict[str, Annotated[float, Meta(ge=0, le=FURTHEST)]] = {}

    def forget(self) -> "Rule":
        """Return the rule before it was trained."""
        return msgspec.structs.replace(self, adjustments={}, counts={})

    @property
    def relative(self) -> bool:
        """Whether temperatures are in units of the readings' spread, unlike in the paper."""
        return self.name != "paper"

    @property
    def powers(self) -> dict[str, float]:
        """Power of classes in the unit of each parameter."""
        return {**POWERS, **self.units}

    def combine(self, modes: Float[np.ndarray, "T P"], tasks: int, default: Prior) -> Prior:
        r"""Derive the prior of a new task's parameters from other tasks': see ``learn_prior``.

        .. math:: \mu_0 + w^c (\bar\mu - \mu_0), \qquad
            \min(\sigma_0, \sqrt{v + \sigma_0^2 / 4}), \qquad
            w = \sigma_0^2 / (\sigma_0^2 + v (1 + 1 / T))

        Here the fits have mean :math:`\bar\mu` and variance v over T tasks, and the channel's prior
        location :math:`\mu_0` and scale :math:`\sigma_0`.  The paper's rule has c = 0; the cautious
        one has c = 3, and trusts the mean as far as tasks agree.  Where tasks differ as
        much as that prior expects, they may fall into groups, and the mean of a few misleads; where
        they agree, w is one.  The power was chosen on the tasks of ``benchmarks/priors.py``.

        Args:
            modes: posterior modes of at least two fits, in the unconstrained units of the new task.
            tasks: number of tasks that they are of.
            default: location and scale in the channel's file.

        Returns:
            Location and scale of each parameter.
        """
        variance, prior_variance = modes.var(axis=0, ddof=1), np.square(default.scale)
        total = prior_variance + variance * (1 + 1 / tasks)
        weight = (prior_variance / total) ** CAUTION[self.name]
        loc = default.loc + weight * (modes.mean(axis=0) - default.loc)
        return Prior(loc, np.minimum(default.scale, np.sqrt(variance + prior_variance / 4)))
