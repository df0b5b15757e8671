"""What was learned, as a table beside the priors in the channels' files."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
from numpyro.distributions.transforms import ExpTransform

from cordial_ppl.channel import Channel
from cordial_ppl.inference.target import build_target
from cordial_ppl.priors.learned import LearnedPrior
from cordial_ppl.priors.units import unit


class Row(NamedTuple):
    """One parameter, unconstrained and in units of the scale's length K - 1.

    Attributes:
        channel: name of the channel.
        parameter: its name, such as "log temperature" or "bias[2]".
        mean: mean of the learned prior.
        spread: its standard deviation.
        own_mean: mean of the prior in the channel's file.
        own_spread: its standard deviation.
    """

    channel: str
    parameter: str
    mean: float
    spread: float
    own_mean: float
    own_spread: float


def learned_rows(prior: LearnedPrior, channels: Sequence[Channel], size: int) -> list[Row]:
    """Describe a learned prior of some channels on a scale of K options.

    Returns:
        A row for each parameter that was learned.

    Raises:
        InputError: the prior is not for these channels.
    """
    rows = []
    for channel in channels:
        with jax.enable_x64(True):
            target = build_target(channel, size, prior.channels[channel.name].covariates)
        for site in target.sites:
            own = unit(site, size, prior.rule.powers)
            scaled = "log " if isinstance(site.transform, ExpTransform) else ""
            scaled = "logit " if site.parameter != site.name else scaled
            for place in range(target.size)[site.slice]:
                name = scaled + target.coordinates[place].replace(site.name, site.parameter, 1)
                learned, default = (
                    (float(own.express(part.loc[place])), float(part.scale[place] * own.factor))
                    for part in (prior.of(target), target.prior)
                )
                if learned != default:
                    rows.append(Row(channel.name, name, *learned, *default))
    return rows
