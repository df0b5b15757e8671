"""The channel over all readers as a member of a fusion, and what else is no single reader's."""

import jax
import numpy as np

from cordial_ppl.channel import Channel
from cordial_ppl.channels import CHANNELS
from cordial_ppl.channels.readers import location_readers
from cordial_ppl.inference.target import Prior, build_target
from cordial_ppl.priors import Given, LearnedPrior, NamedPrior, resolve, source_of

JOINT = Channel("joint channel", location_readers)
"""The location channel over all readers."""

AVERAGE = "average reading"
"""The member whose stack sees the readers' average."""

COUNTS = {AVERAGE: 3.0, JOINT.name: 0.5}
READER_COUNT = 0.25
"""Dirichlet pseudo-counts of the weights: most on the average, which few labels serve best.

On real readings this predicts better than one count for each member (``benchmarks/fusion.py``,
whose readings it was chosen on).
"""


def joint_prior(given: Given, size: int, readers: int, covariates: tuple[str, ...]) -> Prior | None:
    """The prior of the joint channel that follows from what is said of single readers' channels.

    Args:
        given: what an estimator was given as its prior.
        size: number of options K.
        readers: number of readers R.
        covariates: names of the texts' covariates.

    Returns:
        Location and scale, the same for the temperature of every reader; None where nothing was
        said that the joint channel has a parameter of.
    """
    with jax.enable_x64(True):
        target = build_target(JOINT, size, covariates, readers)
        source = source_of(given, JOINT.name)
        if isinstance(source, NamedPrior):
            return source.of(target)
        if not isinstance(given, LearnedPrior) or "location" not in given.channels:
            return None
        single = build_target(CHANNELS["location"], size, covariates)
        learned = resolve(given, single)
    assert learned is not None
    loc, scale = (np.array(part) for part in target.prior)
    known = {site.name: site for site in single.sites}
    for site in target.sites:
        if site.name in known:
            own = known[site.name].slice
            loc[site.slice], scale[site.slice] = learned.loc[own], learned.scale[own]
    return Prior(loc, scale)
