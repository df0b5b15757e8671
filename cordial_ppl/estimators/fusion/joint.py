"""What a fusion has beside the readers' stacks: the joint channel, the average, their weights."""

from collections.abc import Sequence

import jax
import numpy as np

from cordial_ppl.channels import CHANNELS
from cordial_ppl.channels.channel import Channel
from cordial_ppl.channels.joint_location import location_readers
from cordial_ppl.inference.priors import NamedPrior, Priors
from cordial_ppl.inference.target import Prior, build_target

JOINT = Channel("joint channel", location_readers)
"""The location channel over all readers."""

AVERAGE = "average reading"
"""The member whose stack sees the readers' average."""

COUNTS = {AVERAGE: 3.0, JOINT.name: 0.5}
READER_COUNT = 0.25
"""Dirichlet pseudo-counts of the weights: most on the average, which is best with few labels.

On real readings this predicts better than one count per member (``benchmarks/fusion.py``; the
counts were chosen on the same readings).
"""


def joint_prior(
    priors: Priors, size: int, spreads: Sequence[float], covariates: tuple[str, ...]
) -> Prior | None:
    """Make the prior of the joint channel, as far as those of single channels say it.

    Args:
        priors: the fusion's.
        size: number of options K.
        spreads: of each reader's readings, nats.
        covariates: names of the texts' covariates.

    Returns:
        Location and scale; None if no prior is given for any parameter of the joint channel.
    """
    with jax.enable_x64(True):
        target = build_target(JOINT, size, covariates, len(spreads))
        single = build_target(CHANNELS["location"], size, covariates)
    start, learned, source = target.prior, priors.learned, priors.of(JOINT.name)
    if learned is not None and single.channel.name in learned.channels:
        loc, scale = map(np.array, start)
        each = [learned.of(single, spread) for spread in spreads]
        places = {site.name: site.slice for site in single.sites}
        for site in (site for site in target.sites if site.name in places):
            # A vector has one number for each reader; a scalar is the same for all.
            of, position = each if site.shape else each[:1], places[site.name]
            loc[site.slice] = np.concatenate([prior.loc[position] for prior in of])
            scale[site.slice] = np.concatenate([prior.scale[position] for prior in of])
        start = Prior(loc, scale)
    if isinstance(source, NamedPrior):
        return source.over(target, start)
    return None if start is target.prior else start
