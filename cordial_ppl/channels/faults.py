"""Faults of a channel's sites, each in words that say what to write instead."""

from typing import Any

import numpyro.distributions as dist
from numpyro.primitives import Messenger

from cordial_ppl.channels.channel import LABEL_SITE, Model
from cordial_ppl.errors import ChannelError

RESERVED = frozenset({"chain", "draw", "label", "option", "prediction", "reader", "text"})
"""Names of ArviZ's dimensions, and of what is predicted."""

PRIOR = (
    "a prior must be a distribution that NumPyro draws from and that has a density, such as "
    "dist.Normal, dist.HalfNormal or dist.Uniform"
)


class Contract(Messenger):
    """Run a model whose sites, beside its label, are continuous parameters.

    Args:
        model: the model, with its label as `Likelihood` has it.
        name: of the channel.

    Raises:
        ChannelError: a site has no place in a channel.
    """

    def __init__(self, model: Model, name: str):
        super().__init__(model)
        self.name = name

    def process_message(self, msg: dict[str, Any]) -> None:
        """Refuse a site before it is drawn."""
        name = msg.get("name")
        find = _find_fault_of_prior if msg["type"] == "sample" else _find_fault_of_others
        if name != LABEL_SITE and (fault := find(name, msg)):
            raise ChannelError(f"channel {self.name!r} {fault}")


def _find_fault_of_others(name: Any, msg: dict[str, Any]) -> str:
    """Say why what is no distribution has no place in a channel; empty where it has one."""
    if msg["type"] == "prng_key":
        return "draws noise by numpyro.prng_key(): make it a parameter, or average over it."
    if msg["type"] == "param":
        return f"has numpyro.param({name!r}, ...): write numpyro.sample, with a prior."
    if msg["type"] == "plate" and msg["args"][1] not in (None, msg["args"][0]):
        return (
            f"draws a subsample in its plate {name!r}, but every label counts in a posterior: "
            "leave subsample_size out."
        )
    return ""


def _find_fault_of_prior(name: Any, msg: dict[str, Any]) -> str:
    """Say why a site cannot be a parameter; empty where it can."""
    fn = msg["fn"]
    if name in RESERVED or "/" in name:
        return (
            f"has a site called {name!r}: a name must not contain a slash, nor be one of "
            f"{', '.join(sorted(RESERVED))}, which are dimensions of its draws."
        )
    if isinstance(fn, dist.Unit):
        return (
            f"adds to its density by numpyro.factor({name!r}, ...): a prior belongs into "
            "numpyro.sample, and the likelihood into observe."
        )
    if msg["is_observed"] or fn.support.is_discrete:
        kind = "a second observed" if msg["is_observed"] else "a discrete"
        return (
            f"has {kind} site {name!r}: every site besides the label must be a continuous "
            "parameter (sum discrete ones out), and the label's over 0..K-1 for each text."
        )
    if isinstance(fn, dist.MaskedDistribution):
        return f"masks the prior of {name!r}: put numpyro.handlers.mask around observe alone."
    while not isinstance(fn, dist.Delta | dist.ImproperUniform) and hasattr(fn, "base_dist"):
        fn = fn.base_dist
    if isinstance(fn, dist.ImproperUniform):
        return f"has an improper prior of {name!r}: {PRIOR}."
    if isinstance(fn, dist.Delta):
        fixed = f"what is fixed is numpyro.deterministic({name!r}, ...)"
        return f"holds {name!r} fixed by dist.Delta: {PRIOR}; {fixed}."
    return ""
