"""The named parameters that the paper's channels share, with their priors.

In the unconstrained space that inference works in, every prior is one of the paper's independent
Gaussians (Section 2.4): near the identity channel, wide enough to leave it.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jaxtyping import Float

from cordial_ppl.channels.channel import sample_log_odds


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


def sample_temperature() -> Any:
    """Sample ``temperature ~ LogNormal(log 2, 1)``."""
    return numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 1.0))


def sample_affine() -> Affine:
    """Sample ``offset``, ``gain``, ``concentration`` and ``strength``.

    ``offset ~ N(0, 1)``, ``gain ~ LogNormal(0, 0.5)``, ``concentration ~ LogNormal(log 4, 1.5)``
    and ``logit strength ~ N(logit 0.95, 2)``.
    """
    return Affine(
        offset=numpyro.sample("offset", dist.Normal(0.0, 1.0)),
        gain=numpyro.sample("gain", dist.LogNormal(0.0, 0.5)),
        concentration=numpyro.sample("concentration", dist.LogNormal(jnp.log(4.0), 1.5)),
        strength_log_odds=sample_strength(),
    )


def sample_strength() -> Any:
    """Sample ``logit strength ~ N(logit 0.95, 2)`` and return the log odds."""
    return sample_log_odds("strength", jnp.log(19.0), 2.0)


def sample_vector_scaling(size: int) -> VectorParameters:
    """Sample ``log_scale ~ N(0, 0.5^2)`` and ``bias ~ N(0, 1)`` for each of ``size`` options."""
    return VectorParameters(
        log_scale=numpyro.sample("log_scale", dist.Normal(0.0, 0.5).expand([size]).to_event(1)),
        bias=numpyro.sample("bias", dist.Normal(0.0, 1.0).expand([size]).to_event(1)),
    )
