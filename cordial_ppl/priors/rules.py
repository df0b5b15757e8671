r"""From fits of other tasks to the prior of a new one, parameter by parameter.

Every rule takes T fits in the unconstrained units of the new task and returns a mean and a standard
deviation of each parameter.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.inference.target import Prior
from cordial_ppl.priors.hierarchy import predict_new

CAUTION = 3
"""Power of the share that the other tasks' mean has by its precision."""


class Evidence(NamedTuple):
    """Fits of one or several parameters.

    Attributes:
        modes: posterior modes, shape ``[T, P]``.
        spreads: their Laplace standard deviations, shape ``[T, P]``.
        tasks: number of each fit's task, shape ``[T]``; several readers share a task.
    """

    modes: Float[np.ndarray, "T P"]
    spreads: Float[np.ndarray, "T P"]
    tasks: Int[np.ndarray, " T"]


def paper(evidence: Evidence, own: Prior) -> Prior:
    r"""The paper's rule (Section 2.7).

    .. math:: \mu = \mathrm{mean}, \qquad \sigma = \min(\sigma_0, \sqrt{v + \sigma_0^2 / 4})

    Args:
        evidence: at least two fits; v is their variance with T - 1 in the denominator.
        own: location and scale that the channel has by itself, of which sigma_0 is the scale.

    Returns:
        Location and scale.
    """
    variance = evidence.modes.var(axis=0, ddof=1)
    scale = np.minimum(own.scale, np.sqrt(variance + np.square(own.scale) / 4))
    return Prior(evidence.modes.mean(axis=0), scale)


def cautious(evidence: Evidence, own: Prior) -> Prior:
    r"""The paper's rule, with a mean that trusts the fits as far as tasks agree.

    .. math:: \mu' = \mu_0 + w^3 (\mu - \mu_0), \qquad
       w = \frac{\sigma_0^2}{\sigma_0^2 + v (1 + 1/G)}

    There are two opinions on a new task's parameter, the channel's own and that of G other tasks,
    and w is the share of the second if they are weighed by their precision.  Where tasks differ as
    much as the channel expects of any, they may fall into groups, and the mean of a few of them
    misleads; where they agree, w is one.  The cube is from measurement: on tasks that were left
    out, w itself lost where groups differ, and higher powers lost nothing where tasks agree
    (``benchmarks/priors.py``, whose tasks it was chosen on).

    Args:
        evidence: at least two fits.
        own: location mu_0 and scale sigma_0 that the channel has by itself.

    Returns:
        Location and scale.
    """
    found, variance = paper(evidence, own), evidence.modes.var(axis=0, ddof=1)
    unsure = variance * (1 + 1 / len(np.unique(evidence.tasks)))
    share = np.square(own.scale) / (np.square(own.scale) + unsure)
    return Prior(own.loc + share**CAUTION * (found.loc - own.loc), found.scale)


def hierarchical(evidence: Evidence, own: Prior) -> Prior:
    """The mean and standard deviation that a hierarchical model predicts; see `hierarchy`."""
    return Prior(*predict_new(*evidence, *own))


RULES: Mapping[str, Callable[[Evidence, Prior], Prior]] = {
    "cautious": cautious,
    "paper": paper,
    "hierarchical": hierarchical,
}
