"""What was learned, as a table beside what the channels believe by themselves."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np
from numpyro.distributions.transforms import ExpTransform

from cordial_ppl.channel import Channel
from cordial_ppl.inference.target import build_target
from cordial_ppl.priors.learned import LearnedPrior
from cordial_ppl.priors.units import POWERS, unit


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
        powers = {**POWERS, **prior.rule.units}
        own, found = target.prior, prior.of(target)
        for site in target.sites:
            shift, factor = unit(site, size, powers)
            indices = [f"[{','.join(map(str, i))}]" if i else "" for i in np.ndindex(site.shape)]
            columns = [
                *((found.loc[site.slice] + shift) * factor, found.scale[site.slice] * factor),
                *((own.loc[site.slice] + shift) * factor, own.scale[site.slice] * factor),
            ]
            for index, *numbers in zip(indices, *columns, strict=True):
                if numbers[:2] != numbers[2:]:
                    name = f"{_scale(site)}{site.parameter}{index}"
                    rows.append(Row(channel.name, name, *map(float, numbers)))
    return rows


def _scale(site) -> str:
    """What the parameter is unconstrained by."""
    if site.parameter != site.name:
        return "logit "
    return "log " if isinstance(site.transform, ExpTransform) else ""
