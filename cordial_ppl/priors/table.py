"""What was learned, as a table beside what the channels believe by themselves."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np
from numpyro.distributions.transforms import ExpTransform

from cordial_ppl.channel import Channel
from cordial_ppl.inference.target import build_target
from cordial_ppl.priors.learned import LearnedPrior
from cordial_ppl.priors.units import POWERS, lengths


class Row(NamedTuple):
    """One parameter, unconstrained and in units of the scale's length K - 1.

    Attributes:
        channel: name of the channel.
        parameter: its name, such as "log temperature" or "bias[2]".
        mean: mean of the learned prior.
        spread: its standard deviation.
        own_mean: mean of the channel's own prior.
        own_spread: its standard deviation.
    """

    channel: str
    parameter: str
    mean: float
    spread: float
    own_mean: float
    own_spread: float


def learned_rows(prior: LearnedPrior, channels: Sequence[Channel], size: int) -> list[Row]:
    """Describe a learned prior on a scale of K options.

    Args:
        prior: the prior.
        channels: channels that it was learned for.
        size: number of options K.

    Returns:
        A row for each parameter that was learned.

    Raises:
        InputError: the prior is not for these channels.
    """
    rows = []
    for channel in channels:
        covariates = prior.channels[channel.name].covariates
        with jax.enable_x64(True):
            target = build_target(channel, size, covariates)
        unit = lengths(target, size, {**POWERS, **prior.rule.units})
        priors = prior.of(target), target.prior
        means = [(own.loc + unit.shift) * unit.factor for own in priors]
        spreads = [own.scale * unit.factor for own in priors]
        names = [
            f"{_scale(site)}{site.parameter}{index if site.shape else ''}"
            for site in target.sites
            for index in ([f"[{','.join(map(str, i))}]" for i in np.ndindex(site.shape)])
        ]
        for place, name in enumerate(names):
            if any(first.flat[place] != own.flat[place] for first, own in (means, spreads)):
                numbers = means[0][place], spreads[0][place], means[1][place], spreads[1][place]
                rows.append(Row(channel.name, name, *map(float, numbers)))
    return rows


def _scale(site) -> str:
    """What the parameter is unconstrained by."""
    if site.parameter != site.name:
        return "logit "
    return "log " if isinstance(site.transform, ExpTransform) else ""
