"""Whether a channel keeps the contract: it can be traced, for any number of options."""

import jax

from cordial_ppl.channel import Channel
from cordial_ppl.checks.finding import FAIL, PASS, Finding
from cordial_ppl.errors import ChannelError
from cordial_ppl.inference.target import build_target
from cordial_ppl.inference.tracing import find_covariates

SIZES = (2, 3, 5, 7)
"""Numbers of options that a channel must be for."""

READERS = 2
"""Of a channel of several."""


def check_contract(channel: Channel) -> Finding:
    """Trace the channel for several numbers of options, and say what its parameters are."""
    sizes = []
    for size in SIZES:
        try:
            with jax.enable_x64(True):
                covariates = find_covariates(channel, size)
                readers = READERS if channel.several else None
                target = build_target(channel, size, covariates, readers)
        except ChannelError as error:
            return Finding("contract", FAIL, f"with {size} options: {error}")
        sizes.append(target.size)
    names = [site.parameter for site in target.sites]
    replaceable = [site.parameter for site in target.sites if site.gaussian]
    covariates = find_covariates(channel, SIZES[-1])
    words = f"{len(names)} parameters: {', '.join(names)}"
    words += f"; covariates: {', '.join(covariates)}" if covariates else ""
    if len(replaceable) < len(names):
        fixed = [name for name in names if name not in replaceable]
        words += f"; priors that cannot be replaced by name: {', '.join(fixed)}"
    figures = {"parameters": dict(zip(SIZES, sizes, strict=True)), "covariates": list(covariates)}
    return Finding("contract", PASS, words, figures)
