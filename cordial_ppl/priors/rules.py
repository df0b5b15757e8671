r"""Rules: from the fits of other tasks to the prior of a new one, parameter by parameter."""

from collections.abc import Callable, Mapping

import msgspec
import numpy as np
from jaxtyping import Float

from cordial_ppl.inference.target import Prior
from cordial_ppl.priors.units import POWERS

CAUTION = 3
"""Power of the weight w in the cautious rule."""

Function = Callable[[Float[np.ndarray, "T P"], int, Prior], Prior]


def paper(modes: Float[np.ndarray, "T P"], tasks: int, default: Prior) -> Prior:
    r"""The paper's rule (Section 2.7).

    .. math:: \mu = \mathrm{mean}, \qquad \sigma = \min(\sigma_0, \sqrt{v + \sigma_0^2 / 4})

    Args:
        modes: posterior modes of at least two fits, in the unconstrained units of the new task; v
            is their variance with T - 1 in the denominator.
        tasks: number of tasks that they are of.
        default: location and scale sigma_0 in the channel's file.

    Returns:
        Location and scale.
    """
    variance = modes.var(axis=0, ddof=1)
    scale = np.minimum(default.scale, np.sqrt(variance + np.square(default.scale) / 4))
    return Prior(modes.mean(axis=0), scale)


def cautious(modes: Float[np.ndarray, "T P"], tasks: int, default: Prior) -> Prior:
    r"""The paper's rule, with a mean that trusts the fits as far as tasks agree.

    .. math:: \mu' = \mu_0 + w^3 (\mu - \mu_0), \qquad
       w = \frac{\sigma_0^2}{\sigma_0^2 + v (1 + 1/G)}

    A new task's parameter is predicted by the channel's prior and by the mean of G other tasks; w
    is the weight of the mean by precision.  Where tasks differ as much as the channel's prior
    expects, they may fall into groups, and the mean of a few of them misleads; where they agree, w
    is one.  The power is empirical: on tasks that were left out, w itself lost where there are
    groups, and higher powers lost nothing where tasks agree (``benchmarks/priors.py``, whose tasks
    it was chosen on).

    Args:
        modes: posterior modes, as for `paper`.
        tasks: number of tasks G.
        default: location mu_0 and scale sigma_0 in the channel's file.

    Returns:
        Location and scale.
    """
    found, variance = paper(modes, tasks, default), modes.var(axis=0, ddof=1)
    unsure = variance * (1 + 1 / tasks)
    weight = np.square(default.scale) / (np.square(default.scale) + unsure)
    return Prior(default.loc + weight**CAUTION * (found.loc - default.loc), found.scale)


RULES: Mapping[str, Function] = {"cautious": cautious, "paper": paper}


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a prior follows from the fits.

    Attributes:
        name: "cautious" or "paper"; the temperature is in units of the readings' spread in the
            first only.
        vector: whether parameters of single options are learned, from tasks of the same K.
        units: power of classes in the unit of further parameters, by name.
    """

    name: str = "cautious"
    vector: bool = True
    units: dict[str, float] = {}

    @property
    def relative(self) -> bool:
        """Whether temperatures are in units of the readings' spread, unlike in the paper."""
        return self.name != "paper"

    @property
    def powers(self) -> dict[str, float]:
        """Power of classes in the unit of each parameter."""
        return {**POWERS, **self.units}
