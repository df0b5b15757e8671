"""The parameters that are reported of a fit, by their draws.

Of the channels that came with the package, those of the heaviest; channels of one's own stand by
themselves, in the words of their files.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from cordial_ppl.channels import is_built_in
from cordial_ppl.decisions.judge import LEVELS, Fault
from cordial_ppl.inference.posterior import Posterior

PARAMETERS = ("temperature", "offset", "gain", "concentration", "strength")
"""The paper's parameters, in the order of the report."""

ENTRIES = 50
"""Entries of a vector that are reported: of a longer one, those whose medians are largest."""


@dataclass(frozen=True)
class Parameter:
    """A parameter that is reported, by its draws.

    Attributes:
        site: what the channel calls it.
        channel: the channel.
        draws: its draws in its units, ``[S]``, or ``[S, ...]`` of a vector.
        weights: weights of the draws, which sum to one, ``[S]``.
        built_in: whether the channel came with the package.
        words: what it is, in the words of that channel's author; empty where there are none.
        index: which entry of a vector it is; empty for a whole parameter.
    """

    site: str
    channel: str
    draws: Float[np.ndarray, "S *shape"]
    weights: Float[np.ndarray, " S"]
    built_in: bool
    words: str = ""
    index: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """Its name, such as "skew" or "steps[2]"."""
        return self.site + (f"[{','.join(map(str, self.index))}]" if self.index else "")

    @property
    def entries(self) -> tuple["Parameter", ...]:
        """A number itself; of a vector the entries that are reported, the first with the words."""
        shape = self.draws.shape[1:]
        if not shape:
            return (self,)
        flat, count = self.draws.reshape(len(self.draws), -1), math.prod(shape)
        median = np.quantile(flat, 0.5, axis=0, weights=self.weights, method="inverted_cdf")
        places = np.sort(np.argsort(-np.abs(median), kind="stable")[:ENTRIES])
        note = f"the {ENTRIES} largest of {count:,} entries" if count > ENTRIES else ""
        words = "; ".join(filter(None, (self.words, note)))
        indices = [tuple(map(int, np.unravel_index(k, shape))) for k in places]
        return tuple(
            replace(self, index=index, draws=self.draws[:, *index], words=words * (not n))
            for n, index in enumerate(indices)
        )

    @property
    def fault(self) -> Fault:
        """Its median and interval, in its author's words."""
        low, median, high = np.quantile(
            self.draws, LEVELS, weights=self.weights, method="inverted_cdf"
        ).tolist()
        ends = (None, None) if low == high else (low, high)
        return Fault(self.name, median, *ends, self.words)


def list_parameters(
    posteriors: Mapping[str, Posterior], weights: Mapping[str, float]
) -> dict[str, Parameter]:
    """List the parameters that are reported.

    These are the numbers of the heaviest channel of the package, and all that channels of one's own
    have, vectors too.

    Args:
        posteriors: posterior of each channel.
        weights: stack weight of each member.

    Returns:
        Parameters by name; one of a channel of one's own among others as "skewed.skew".
    """
    names = [name for name, posterior in posteriors.items() if is_built_in(posterior.channel)]
    heaviest, listed = max(names, key=lambda name: weights.get(name, 0.0), default=""), {}
    for name, posterior in posteriors.items():
        built_in = name in names
        if built_in and name != heaviest:
            continue
        words, many = dict(posterior.channel.parameters), len(posteriors) > 1
        drawn = posterior.parameters()
        for key in sorted(drawn, key=lambda key: [*PARAMETERS, key].index(key)):
            draws = np.asarray(drawn[key], np.float64)
            parameter = Parameter(key, name, draws, posterior.weights, built_in, words.get(key, ""))
            if not built_in:
                listed[f"{name}.{key}" if many else key] = parameter
            elif draws.ndim == 1:
                listed[key] = parameter
    return listed
