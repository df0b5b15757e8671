"""The sampled parameters of a channel: what tracing finds, or, for those of this package, knows."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from cordial_ppl.channels.channel import LOG_ODDS_SUFFIX, Channel, count_levels
from cordial_ppl.channels.parameters import PRIORS, VECTOR, make_prior
from cordial_ppl.data.readings import Readings


class Site(NamedTuple):
    """One sampled parameter of a model.

    Attributes:
        name: the site's name.
        shape: shape of its unconstrained value.
        slice: where it lies in the flat vector.
        transform: bijection from the unconstrained value to the parameter.
        parameter: name of the parameter in its own units.
        gaussian: whether its prior is a fixed Gaussian in the unconstrained space.
        scaled: whether the model scales its log density (``numpyro.handlers.scale``).
        plates: names of the plates that it is sampled in, outermost first.
    """

    name: str
    shape: tuple[int, ...]
    slice: slice
    transform: Any
    parameter: str
    gaussian: bool
    scaled: bool
    plates: tuple[str, ...]

    @property
    def kind(self) -> str:
        """Name of the transform's class."""
        return name_kind(self.transform)

    def unravel(self, flat: Any) -> Any:
        """Return the site's unconstrained value in a flat vector."""
        return flat[self.slice].reshape(self.shape)

    def value(self, flat: Any) -> Any:
        """Return the site's value, as the model samples it."""
        with jax.numpy_dtype_promotion("standard"):
            return _keep_precision(self.transform, self.unravel(flat)).astype(flat.dtype)

    def density(self, trace: dict[str, Any], flat: Array) -> Array:
        """Compute the value's unconstrained log prior density in nats, unscaled, in batch shape.

        Args:
            trace: of the model with this value given.
            flat: the unconstrained vector.
        """
        from numpyro.distributions.util import sum_rightmost

        value, fn = trace[self.name]["value"], trace[self.name]["fn"]
        logs = _keep_precision(fn.log_prob, value)
        jacobian = _keep_precision(self.transform.log_abs_det_jacobian, self.unravel(flat), value)
        return logs + sum_rightmost(jacobian, jnp.ndim(jacobian) - jnp.ndim(logs))


class KnownSite(Site):
    """A parameter of a channel of this package; its transform is made when it is asked for."""

    @property
    def transform(self) -> Any:
        """Bijection from the unconstrained value to the parameter."""
        from numpyro import distributions as dist

        return dist.biject_to(make_prior(self.name, *self.shape).support)

    @property
    def kind(self) -> str:
        """Name of the transform's class."""
        return {"Normal": "IdentityTransform", "LogNormal": "ExpTransform"}[PRIORS[self.name][0]]


def list_sites(
    names: Sequence[str], size: int, readers: int | None
) -> tuple[tuple[Site, ...], Float[np.ndarray, " P"], Float[np.ndarray, " P"]]:
    """List parameters of this package, as `cordial_ppl.inference.tracing.describe` finds them.

    Args:
        names: of their sites, in the order in which the model samples them.
        size: number of options K.
        readers: number of readers R of each text; None for a channel of one reader.
    """
    lengths: dict[str, int] = dict.fromkeys(VECTOR, size)
    if readers is not None:
        lengths |= {"temperature": readers, "contrast": readers - 1}
    names = [name for name in names if lengths.get(name) != 0]
    counts = [lengths.get(name, 1) for name in names]
    loc, scale = np.repeat([PRIORS[name][1:] for name in names], counts, axis=0).T
    sites = []
    for name, count, end in zip(names, counts, np.cumsum(counts).tolist(), strict=True):
        shape, parameter = (count,) * (name in lengths), name.removesuffix(LOG_ODDS_SUFFIX)
        index = slice(end - count, end)
        sites.append(KnownSite(name, shape, index, None, parameter, True, False, ()))
    return tuple(sites), loc, scale


def name_kind(transform: Any) -> str:
    """Name the class of a transform, which around a vector is wrapped to count its dimensions."""
    while hasattr(transform, "base_transform"):
        transform = transform.base_transform
    return type(transform).__name__


def _keep_precision(function: Callable[..., Any], *arrays: Any) -> Any:
    """Call a function of NumPyro's, some of which build matrices in JAX's default precision."""
    try:
        return function(*arrays)
    except TypeError:
        return function(*(jnp.asarray(array, float) for array in arrays)).astype(arrays[0].dtype)


def make_readings(
    channel: Channel,
    readers: int | None,
    logits: Float[np.ndarray, "n K"],
    histogram: Float[np.ndarray, " K"],
    covariates: Mapping[str, Sequence[float]],
) -> Readings:
    """Make readings to try a channel with: readers agree, covariates are as its file says."""
    count = count_levels(channel)
    covariates = dict(covariates)
    for name, low, high in channel.examples:
        if name in covariates:
            covariates[name] = np.interp(covariates[name], [-2.0, 4.0], [low, high]).tolist()
    extra = {
        name: np.clip(np.floor(values), 0, count[name] - 1) if name in count else np.array(values)
        for name, values in covariates.items()
    }
    if readers is not None:
        logits = np.repeat(logits[:, None], readers, axis=1)
    return Readings(logits, histogram, extra)
