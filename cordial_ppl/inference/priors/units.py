r"""Units in which tasks with other scales and other readings share a prior.

A parameter in classes to the power p is divided by ``(K - 1)^p``: the offset d by K - 1, and
``log kappa + 2 log(K - 1)`` is log kappa in units of the scale's length.  Temperature, gain and
strength have no unit.

Logits come with any factor: log-probabilities of tokens, of whole answers, logarithms of smoothed
counts.  A factor on a reader's logits is a factor on its temperature, which is therefore in units
of the readings' spread.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from numpyro.distributions.transforms import ExpTransform, IdentityTransform, IndependentTransform

from cordial_ppl.errors import InputError, SettingNeeded
from cordial_ppl.inference.target import Target
from cordial_ppl.inference.tracing import Site

POWERS: Mapping[str, float] = {
    "temperature": 0.0,
    "offset": 1.0,
    "gain": 0.0,
    "concentration": -2.0,
    "strength": 0.0,
    "form": 0.0,
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
        """An unconstrained parameter in this unit."""
        return (value + self.shift) * self.factor

    def read(self, value: Any) -> Any:
        """The unconstrained parameter of a value in this unit."""
        return value / self.factor - self.shift


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
    """Unit of a parameter on a scale of K options.

    Args:
        site: the parameter.
        size: number of options K.
        powers: power of classes in each parameter's unit; 0 for those not named.
        spread: unit of the temperature.

    Raises:
        InputError: a parameter between bounds has a unit.
    """
    power, length = powers.get(site.parameter, 0.0), float(size - 1)
    kind = site.transform
    while isinstance(kind, IndependentTransform):
        kind = kind.base_transform
    if isinstance(kind, ExpTransform):
        log_spread = np.log(spread) if site.parameter == TEMPERATURE else 0.0
        return Unit(float(-power * np.log(length) - log_spread), 1.0)
    if isinstance(kind, IdentityTransform):
        return Unit(0.0, length**-power)
    if power:
        raise InputError(
            f"parameter {site.parameter!r} lies between bounds and cannot have a unit: leave it "
            "out of units."
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
    names = [site.parameter for site in target.sites if not site.shape]
    unknown = [name for name in names if name not in powers]
    if unknown and len(sizes) > 1:
        raise SettingNeeded(
            f"tasks have {' and '.join(map(str, sorted(sizes)))} options, and the unit of "
            f"parameter {unknown[0]!r} of channel {target.channel.name!r} is not known.",
            "Take tasks with equally many options, or say which power of classes it is in, 0 for "
            "none",
            "units",
            {unknown[0]: 0},
        )
