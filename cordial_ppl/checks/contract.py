"""Whether a channel keeps the contract: it can be traced, for any number of options."""

import jax

from cordial_ppl.channel import Channel
from cordial_ppl.checks.finding import FAIL, PASS, Finding
from cordial_ppl.errors import ChannelError
from cordial_ppl.inference.target import build_target
from cordial_ppl.inference.tracing import find_covariates

SIZES = (2, 3, 5, 7)
"""Numbers of options for which a channel must work."""


def check_contract(channel: Channel) -> Finding:
    """Trace the channel for several numbers of options, and name its parameters."""
    sizes = {}
    for size in SIZES:
        try:
            with jax.enable_x64(True):
                covariates = find_covariates(channel, size)
                target = build_target(channel, size, covariates, 2 if channel.several else None)
        except ChannelError as error:
            return Finding("contract", FAIL, f"with {size} options: {error}")
        sizes[size] = target.size
    names = [site.parameter for site in target.sites]
    fixed = [site.parameter for site in target.sites if not site.gaussian]
    words = f"{len(names)} parameters: {', '.join(names)}"
    words += f"; covariates: {', '.join(covariates)}" if covariates else ""
    words += f"; priors that cannot be replaced by name: {', '.join(fixed)}" if fixed else ""
    return Finding("contract", PASS, words, {"parameters": sizes, "covariates": list(covariates)})
