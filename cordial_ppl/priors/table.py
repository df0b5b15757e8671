"""What was learned, as a table beside the priors in the channels' files."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np
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
        with jax.enable_x64(True):
            target = build_target(channel, size, prior.channels[channel.name].covariates)
        found = prior.of(target)
        for site in target.sites:
            at, (shift, factor) = site.slice, unit(site, size, prior.rule.powers)
            scaled = "logit " if site.parameter != site.name else ""
            scaled = "log " if isinstance(site.transform, ExpTransform) and not scaled else scaled
            for place, index in enumerate(np.ndindex(site.shape)):
                name = scaled + site.parameter + (f"[{','.join(map(str, index))}]" if index else "")
                learned, default = (
                    (float((p.loc[at][place] + shift) * factor), float(p.scale[at][place] * factor))
                    for p in (found, target.prior)
                )
                if learned != default:
                    rows.append(Row(channel.name, name, *learned, *default))
    return rows
