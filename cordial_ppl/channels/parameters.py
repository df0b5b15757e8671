"""The named parameters that the paper's channels share, with their priors.

In the unconstrained space that inference works in, every prior is one of the paper's independent
Gaussians (Section 2.4): near the identity channel, wide enough to leave it.
"""

import math
from typing import Any, NamedTuple

from jaxtyping import Float

from cordial_ppl.channels.channel import LOG_ODDS_SUFFIX, sample_log_odds

PRIORS: dict[str, tuple[str, float, float]] = {
    "temperature": ("LogNormal", math.log(2.0), 1.0),
    "offset": ("Normal", 0.0, 1.0),
    "gain": ("LogNormal", 0.0, 0.5),
    "concentration": ("LogNormal", math.log(4.0), 1.5),
    "strength_log_odds": ("Normal", math.log(19.0), 2.0),
    "form_log_odds": ("Normal", 0.0, 1.5),
    "tilt_log_odds": ("Normal", -1.0, 1.5),
    "log_scale": ("Normal", 0.0, 0.5),
    "bias": ("Normal", 0.0, 1.0),
    "contrast": ("Normal", 0.0, 1.0),
}
"""Family of each parameter's prior, location and scale, by the name of its site.  A strength of
0.95 has log odds of log 19."""

AFFINE = "temperature", "offset", "gain", "concentration", "strength_log_odds"
VECTOR = "log_scale", "bias"

SITES = {
    **dict.fromkeys(("mixture", "location"), AFFINE),
    **dict.fromkeys(("mixture-vector", "location-vector"), AFFINE + VECTOR),
    "bridge": (*AFFINE, "form_log_odds", "tilt_log_odds", *VECTOR),
    "scalar": ("temperature", "strength_log_odds"),
    "scalar-vector": ("temperature", "strength_log_odds", *VECTOR),
    "location-readers": ("temperature", "contrast", *AFFINE[1:]),
}
"""What each channel of this package samples, in this order: nothing has to be traced to know it."""


class Affine(NamedTuple):
    """The affine map of the scale, its spread, and how far the reading is believed.

    Attributes:
        offset: d, shift of the reading in classes.
        gain: s > 0, slope of the map; above 1 it stretches a compressed reading.
        concentration: kappa > 0, inverse squared spread of labels about the map, in 1 / classes^2.
        strength_log_odds: log odds of rho, the weight of the reading against the label histogram.
    """

    offset: Float[Any, ""]
    gain: Float[Any, ""]
    concentration: Float[Any, ""]
    strength_log_odds: Float[Any, ""]


class VectorParameters(NamedTuple):
    """Per-option adjustment of the logits.

    Attributes:
        log_scale: eps, log factor of each option's logit, shape ``[K]``.
        bias: b, shift of each option's logit, shape ``[K]``.
    """

    log_scale: Float[Any, " K"]
    bias: Float[Any, " K"]


def make_prior(name: str, *shape: int) -> Any:
    """Make the prior of a parameter, by the name of its site: one number, or an array of them."""
    # After ArviZ, whose NumPyro is lazy, `import numpyro.distributions` would load it twice.
    from numpyro import distributions as dist

    family, loc, scale = PRIORS[name]
    prior = getattr(dist, family)(loc, scale)
    return prior.expand(shape).to_event() if shape else prior


def sample(name: str, *shape: int) -> Any:
    """Sample a parameter from its prior."""
    import numpyro

    return numpyro.sample(name, make_prior(name, *shape))


def sample_affine() -> Affine:
    """Sample ``offset``, ``gain``, ``concentration`` and ``strength``."""
    offset, gain, concentration = (sample(name) for name in AFFINE[1:4])
    return Affine(offset, gain, concentration, sample_share("strength"))


def sample_share(name: str) -> Any:
    """Sample a parameter of (0, 1) and return its log odds."""
    return sample_log_odds(name, *PRIORS[name + LOG_ODDS_SUFFIX][1:])


def sample_vector_scaling(size: int) -> VectorParameters:
    """Sample ``log_scale`` and ``bias`` for each of ``size`` options."""
    return VectorParameters(*(sample(name, size) for name in VECTOR))
