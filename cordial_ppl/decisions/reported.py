"""The parameters that are reported of a fit, by their draws.

Of the channels that came with the package, those of the heaviest; channels of one's own stand by
themselves, in the words of their files.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.channels import is_built_in
from cordial_ppl.decisions.judge import LEVELS, Fault
from cordial_ppl.inference.posterior import Posterior

PARAMETERS = ("temperature", "offset", "gain", "concentration", "strength")
"""The paper's parameters, in the order of the report."""

ENTRIES = 50
"""Entries of a vector that are reported: of a longer one, those whose medians are largest."""


def list_parameters(
    posteriors: Mapping[str, Posterior], heaviest: str
) -> dict[str, tuple[Fault, ...]]:
    """Describe the parameters that are reported, by channel.

    These are the numbers of the heaviest channel of the package, and all that channels of one's own
    have, vectors too, in their authors' words.

    Args:
        posteriors: posterior of each channel.
        heaviest: that channel of the package; empty where there is none.
    """
    listed = dict[str, tuple[Fault, ...]]()
    for name, posterior in posteriors.items():
        if name == heaviest or not is_built_in(posterior.channel):
            words, drawn = dict(posterior.channel.parameters), posterior.parameters()
            listed[name] = tuple(
                fault
                for site in sorted(drawn, key=lambda site: [*PARAMETERS, site].index(site))
                if name != heaviest or np.ndim(drawn[site]) == 1
                for fault in _describe(site, drawn[site], posterior.weights, words.get(site, ""))
            )
    return listed


def find_heaviest(posteriors: Mapping[str, Posterior], weights: Mapping[str, float]) -> str:
    """Return the channel of the package that weighs most; empty where there is none.

    Args:
        posteriors: posterior of each channel.
        weights: stack weight of each member.
    """
    names = (name for name, posterior in posteriors.items() if is_built_in(posterior.channel))
    return max(names, key=lambda name: weights.get(name, 0.0), default="")


def _describe(name: str, values: Any, weights: Float[np.ndarray, " S"], words: str) -> list[Fault]:
    """Describe a number by its draws; of a vector its entries, of which the first has the words."""
    draws = np.asarray(values, np.float64)
    shape, quantile = draws.shape[1:], partial(np.quantile, weights=weights, method="inverted_cdf")
    if not shape:
        low, median, high = quantile(draws, LEVELS).tolist()
        return [Fault(name, median, *((None, None) if low == high else (low, high)), words)]
    flat = draws.reshape(len(draws), -1)
    count, medians = flat.shape[1], quantile(flat, 0.5, axis=0)
    note = f"the {ENTRIES} largest of {count:,} entries" if count > ENTRIES else ""
    words, faults = "; ".join(filter(None, (words, note))), []
    for entry in np.sort(np.argsort(-np.abs(medians), kind="stable")[:ENTRIES]):
        index = ",".join(map(str, np.unravel_index(entry, shape)))
        faults += _describe(f"{name}[{index}]", flat[:, entry], weights, words)
        words = ""
    return faults
