"""The channel over all readers as a member of a fusion, and what else is no single reader's."""

from collections.abc import Sequence

import jax
import numpy as np

from cordial_ppl.channel import Channel
from cordial_ppl.channels import CHANNELS
from cordial_ppl.channels.readers import location_readers
from cordial_ppl.inference.target import Prior, build_target
from cordial_ppl.priors import LearnedPrior, NamedPrior, Priors

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


def joint_prior(
    priors: Priors,
    size: int,
    spreads: Sequence[float],
    covariates: tuple[str, ...],
) -> Prior | None:
    """The prior of the joint channel that follows from what is said of single readers' channels.

    Args:
        priors: the estimator's.
        size: number of options K.
        spreads: of each reader's readings, nats.
        covariates: names of the texts' covariates.

    Returns:
        Location and scale; None where nothing was said that the joint channel has a parameter of.
    """
    with jax.enable_x64(True):
        target = build_target(JOINT, size, covariates, len(spreads))
        single = build_target(CHANNELS["location"], size, covariates)
    start, learned = target.prior, priors.learned
    if isinstance(learned, LearnedPrior) and "location" in learned.channels:
        loc, scale = (np.array(part) for part in start)
        each = [learned.of(single, spread) for spread in spreads]
        known = {site.name: site.slice for site in single.sites}
        for site in (site for site in target.sites if site.name in known):
            found = [np.stack([own[part][known[site.name]] for own in each]) for part in (0, 1)]
            loc[site.slice], scale[site.slice] = (
                np.ravel(part) if site.shape else part[0] for part in found
            )
        start = Prior(loc, scale)
    source = priors.of(JOINT.name)
    if isinstance(source, NamedPrior):
        return source.over(target, start)
    return None if start is target.prior else start
