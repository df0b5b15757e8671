"""Faults of a channel's sites and predictions, each in words that say what to write instead."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Float, Int
from numpyro import distributions as dist
from numpyro.primitives import Messenger
from numpyro.util import not_jax_tracer

from cordial_ppl.channels.channel import LABEL_SITE, Channel, Model
from cordial_ppl.channels.ordinal import Ordinal, without_masks
from cordial_ppl.data.conversion import SUM_TOLERANCE
from cordial_ppl.errors import ChannelError

RESERVED = frozenset({"chain", "draw", "label", "option", "prediction", "reader", "text"})
"""Names of ArviZ's dimensions, and of what is predicted."""

PRIOR = (
    "a prior must be a NumPyro distribution that has a density and can be sampled, such as "
    "dist.Normal, dist.HalfNormal or dist.Uniform"
)

_ENDS = ("low", "high")

INDEPENDENT = 1e-6
"""Largest difference of a text's probabilities alone and beside others."""


class Contract(Messenger):
    """Run a model whose sites, beside its label, are continuous parameters.

    Args:
        model: the model, with its label as `Likelihood` has it.
        name: of the channel.

    Attributes:
        shapes: of the parameters that were sampled so far, by name.

    Raises:
        ChannelError: a site has no place in a channel.
    """

    def __init__(self, model: Model, name: str):
        super().__init__(model)
        self.name = name
        self.shapes: dict[str, tuple[int, ...]] = {}

    def process_message(self, msg: dict[str, Any]) -> None:
        """Refuse a site before it is drawn."""
        sampled = msg["type"] == "sample"
        name, fn = cast(Any, msg.get("name")), without_masks(msg.get("fn"))
        if isinstance(fn, Ordinal):
            return
        if fault := (_find_fault_of_prior if sampled else _find_fault_of_others)(name, msg):
            raise ChannelError(f"channel {self.name!r} {fault}")
        if sampled:
            self.shapes[name] = fn.shape()


def _find_fault_of_others(name: Any, msg: dict[str, Any]) -> str:
    """Say why what is no distribution has no place in a channel; empty where it has one."""
    if msg["type"] == "prng_key":
        return (
            "draws a random value that is not a parameter, using numpyro.prng_key() or a site "
            "hidden by numpyro.handlers.block. Make the value a parameter, or average over it."
        )
    if msg["type"] == "param":
        return f"calls numpyro.param({name!r}, ...). Use numpyro.sample with a prior instead."
    if msg["type"] == "deterministic" and name == LABEL_SITE:
        return f"records {name!r}, a name reserved for the label site. Choose another name."
    if msg["type"] == "plate" and msg["args"][1] not in (None, msg["args"][0]):
        return (
            f"subsamples in its plate {name!r}, but a posterior must use every label. "
            "Remove subsample_size."
        )
    return ""


def _find_fault_of_prior(name: Any, msg: dict[str, Any]) -> str:
    """Say why a site cannot be a parameter; empty where it can."""
    fn = msg["fn"]
    if not isinstance(name, str):
        return f"has a site called {name!r}, but names must be strings."
    if isinstance(fn, dist.Unit):
        return (
            f"adds a term to its density with numpyro.factor({name!r}, ...). Use numpyro.sample "
            "for a prior and observe for the likelihood."
        )
    if name == LABEL_SITE and not fn.support.is_discrete:
        return (
            "uses a density for its labels, but labels are options 0..K-1. Turn the density into "
            "probabilities of the options, as dist.OrderedLogistic does."
        )
    if msg["is_observed"] and name != LABEL_SITE:
        return (
            f"has a second observed site {name!r}, but a channel may observe only the labels. "
            "Remove the site, or pass the observed values as a covariate."
        )
    if fn.support.is_discrete:
        return (
            f"has a discrete site {name!r} of batch shape {fn.batch_shape}, event shape "
            f"{fn.event_shape} and support {fn.support}. The label site must take values 0..K-1, "
            "as dist.Categorical does, and have batch shape (n,), without .to_event or further "
            "axes. Sum out any other discrete site, and observe the label under the resulting "
            "mixture."
        )
    if name in RESERVED or "/" in name:
        return (
            f"has a site called {name!r}. Names must not contain a slash, and "
            f"{', '.join(sorted(RESERVED))} are reserved for dimensions of the draws."
        )
    if isinstance(fn, dist.MaskedDistribution):
        return f"masks the prior of {name!r}. Wrap only observe in numpyro.handlers.mask."
    while not isinstance(fn, dist.Delta | dist.ImproperUniform) and hasattr(fn, "base_dist"):
        fn = fn.base_dist
    widths = [getattr(fn, key, 1.0) for key in ("scale", *_ENDS * isinstance(fn, dist.Uniform))]
    infinite = any(not_jax_tracer(each) and not np.isfinite(each).all() for each in widths)
    if infinite or isinstance(fn, dist.ImproperUniform):
        return f"has an improper prior for {name!r}: {PRIOR}."
    if isinstance(fn, dist.Delta):
        fixed = f"For a constant, use numpyro.deterministic({name!r}, ...)"
        return f"fixes {name!r} with dist.Delta: {PRIOR}. {fixed}."
    return ""


class DensityTrial(NamedTuple):
    """What a channel makes of made-up texts, the first of which have each of K options as a label.

    Attributes:
        density: log density at the centre of the prior.
        priors: log prior density of each parameter, for texts, for others and for labelled ones.
        seen: labels that the model observed.
        beside: probabilities of the texts, of two points.
        alone: those of each text by itself.
    """

    density: Float[Any, ""]
    priors: Float[Any, "3 sites"]
    seen: Int[Any, " n"]
    beside: Float[Any, "2 n K"]
    alone: Float[Any, "2 n K"]

    def find_fault(self, channel: Channel, sites: Sequence[str]) -> str:
        """Say why nothing can be fitted with a channel; empty where it can.

        Args:
            channel: the channel.
            sites: names of its sample sites.
        """
        name, options = f"channel {channel.name!r}", np.arange(self.beside.shape[2])
        same = np.isclose(self.priors[:1], self.priors[1:], equal_nan=True).all(axis=0)
        if not same.all():
            return (
                f"the prior of {sites[same.argmin()]!r} in {name} depends on the readings, "
                "covariates or labels of the texts. Priors may depend only on readings.histogram."
            )
        seen = self.seen[: len(options)]
        if not np.array_equal(seen, options):
            return (
                f"{name} observes {seen.tolist()} for texts with the labels {options.tolist()}. "
                "Pass the labels unchanged: obs=labels."
            )
        if not np.isfinite(self.density):
            return (
                f"the log density of {name} must be finite at the centre of its prior for simple "
                f"test readings, but is {float(self.density)}. Look for a division by zero or the "
                "logarithm of zero."
            )
        sums = self.beside.sum(axis=2)
        off = (self.beside < 0).any(axis=2) | (np.abs(sums - 1) > SUM_TOLERANCE)
        if off.any():
            return (
                f"the probabilities of {name} must be positive and sum to one, but for a "
                f"simple test reading they are {np.round(self.beside[off][0], 4).tolist()} (sum "
                f"{sums[off][0]:.4g}). Normalise them before calling observe, for example with "
                "jax.nn.log_softmax."
            )
        equal = np.isclose(self.beside, self.alone, rtol=0, atol=INDEPENDENT, equal_nan=True)
        if (unequal := ~equal.all(axis=2)).any():
            alone, beside = (np.round(each[unequal][0], 7) for each in (self.alone, self.beside))
            return (
                f"{name} predicts {alone.tolist()} for a text alone and {beside.tolist()} for the "
                "same text with other texts, some of them labelled. Use only parameters and the "
                "text's own row of readings, not other rows, labels or noise. Compute means over "
                "texts beforehand and pass the means as readings or covariates, or use "
                "readings.histogram."
            )
        return ""
