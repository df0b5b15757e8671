"""The parameters that are reported of a fit, by their draws.

Those that the channels on the plain temperature reading share, `mixture` and `location`, are pooled
in proportion to the channels' stack weights.  What a channel of one's own adds stands by itself.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from cordial_ppl.channels import is_built_in
from cordial_ppl.inference.posterior import Posterior

REPORTED = ("mixture", "location")
"""Channels whose parameters are reported; without them, those of all channels are."""

PARAMETERS = ("temperature", "offset", "gain", "concentration", "strength")
"""The paper's parameters in the order of the report, before those of other channels."""

ENTRIES = 50
"""Entries of a vector that are reported: of a longer one, those whose medians are largest."""

Draws = Float[np.ndarray, "S *shape"]


@dataclass(frozen=True)
class Parameter:
    """A parameter that is reported, by its draws.

    Attributes:
        site: what the channels call it.
        shares: of the channels that the draws are from, which sum to one.
        draws: its draws in its units, ``[S]``, or ``[S, ...]`` of a vector.
        weights: weights of the draws, which sum to one, ``[S]``.
        channel: the channel that it belongs to; empty for one that has a meaning in all of them.
        words: what it is, in the words of that channel's author; empty where there are none.
        index: which entry of a vector it is; empty for a whole parameter.
    """

    site: str
    shares: dict[str, float]
    draws: Draws
    weights: Float[np.ndarray, " S"]
    channel: str = ""
    words: str = ""
    index: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """Its name, such as "skew" or "steps[2]"."""
        return self.site + (f"[{','.join(map(str, self.index))}]" if self.index else "")

    @property
    def modes(self) -> bool:
        """Test whether there is nothing but a mode of each channel."""
        return len(self.draws) == len(self.shares)

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
        return tuple(
            replace(self.entry(tuple(map(int, np.unravel_index(k, shape)))), words=words * (not n))
            for n, k in enumerate(places)
        )

    def entry(self, index: tuple[int, ...]) -> "Parameter":
        """One entry of a vector."""
        return replace(self, index=index, draws=self.draws[:, *index])


def channel_shares(
    posteriors: Mapping[str, Posterior], weights: Mapping[str, float]
) -> dict[str, float]:
    """Stack weights of the channels whose parameters are reported, scaled to sum to one."""
    channels = [name for name in REPORTED if name in posteriors] or list(posteriors)
    shares = np.array([weights.get(name, 0.0) for name in channels], np.float64)
    shares = shares / shares.sum() if shares.sum() > 0 else np.ones(len(shares)) / len(shares)
    return dict(zip(channels, shares.tolist(), strict=True))


def list_parameters(
    posteriors: Mapping[str, Posterior], weights: Mapping[str, float]
) -> dict[str, Parameter]:
    """List the parameters that are reported.

    These are the scalar ones that the reported channels share, pooled, the paper's first; then, of
    each channel that did not come with the package, those that its file has words for or that are
    not the paper's, vectors too.

    Args:
        posteriors: posterior of each channel.
        weights: stack weight of each member.

    Returns:
        Parameters by name; one of a channel's own among other channels as "skewed.skew".
    """
    shares, parameters_by_name = channel_shares(posteriors, weights), {}
    descriptions = {name: _describe(posterior) for name, posterior in posteriors.items()}
    drawn = {
        name: {key: np.asarray(x, np.float64) for key, x in posteriors[name].parameters().items()}
        for name in posteriors
        if name in shares or descriptions[name]
    }
    keys = dict.fromkeys(key for name in shares for key in drawn[name])
    for key in sorted(keys, key=lambda key: [*PARAMETERS, key].index(key)):
        # One that an author describes is that channel's own.
        parts = {name: share for name, share in shares.items() if key not in descriptions[name]}
        if parts and all(key in drawn[name] and drawn[name][key].ndim == 1 for name in parts):
            total = sum(parts.values())
            parts = {name: x / total if total else 1 / len(parts) for name, x in parts.items()}
            weights_of = [x * np.asarray(posteriors[name].weights) for name, x in parts.items()]
            draws = np.concatenate([drawn[name][key] for name in parts])
            parameters_by_name[key] = Parameter(key, parts, draws, np.concatenate(weights_of))
    for name, words_by_key in descriptions.items():
        of = np.asarray(posteriors[name].weights)
        for key, words in words_by_key.items():
            one = Parameter(key, {name: 1.0}, drawn[name][key], of, name, words)
            parameters_by_name[f"{name}.{key}" if len(posteriors) > 1 else key] = one
    return parameters_by_name


def _describe(posterior: Posterior) -> dict[str, str]:
    """Return a channel's own parameters, and what its author says of each."""
    channel = posterior.channel
    if is_built_in(channel):
        return {}
    words, names = dict(channel.parameters), (site.parameter for site in posterior.target.sites)
    return {name: words.get(name, "") for name in names if name in words or name not in PARAMETERS}
