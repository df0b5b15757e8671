"""Posteriors for ArviZ: one ``DataTree`` a channel."""

from typing import TYPE_CHECKING

import numpy as np

from cordial_ppl.inference.posterior import Posterior

if TYPE_CHECKING:
    from xarray import DataTree


def to_datatree(posterior: Posterior, seed: int = 0) -> "DataTree":
    """Convert a posterior for ArviZ, whose plots and summaries need equally weighted draws.

    Args:
        posterior: the posterior; weighted draws are resampled, each ``S w`` times, rounded at
            random.
        seed: seed of the resampling.

    Returns:
        A tree with the group ``posterior`` (one chain, the named parameters in their own units,
        dimension ``option`` for those with one value an option) and the diagnostics as its
        attributes.
    """
    from arviz_base import from_dict

    count = len(posterior.weights)
    rng = np.random.default_rng(seed)
    points = (np.arange(count) + rng.random()) / count
    index = np.minimum(np.searchsorted(np.cumsum(posterior.weights), points), count - 1)
    named = {name: value[index][None] for name, value in posterior.parameters().items()}
    vectors = [
        name for name, value in named.items() if value.shape[2:] == posterior.histogram.shape
    ]
    dims = {name: ["option"] for name in vectors}
    coords = {"option": np.arange(len(posterior.histogram))} if vectors else {}
    if posterior.readers is not None:
        # A channel of several readers has one temperature a reader, and nothing for an option.
        count = posterior.readers
        dims = {name: ["reader"] for name, x in named.items() if x.shape[2:] == (count,)}
        coords = {"reader": np.arange(count)} if dims else {}
    tree = from_dict({"posterior": named}, dims=dims, coords=coords or None)
    figures = posterior.diagnostics._asdict()
    tree["posterior"].attrs.update({"channel": posterior.channel.name, **figures})
    return tree
