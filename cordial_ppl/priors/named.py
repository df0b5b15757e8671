"""Priors that are replaced by name, without touching the file of the model."""

from collections.abc import Iterable, Mapping
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist

from cordial_ppl.errors import InputError, quote
from cordial_ppl.inference.target import Prior, Target
from cordial_ppl.inference.tracing import Site, as_gaussian
from cordial_ppl.priors.learned import LearnedPrior
from cordial_ppl.priors.units import TYPICAL_SPREAD


class NamedPrior:
    r"""Priors of some parameters, by name; the others keep the channel's own, or a learned one.

    A pair of numbers is location and scale on the unconstrained scale that inference works on: of
    an offset or a bias itself, of the logarithm of what is positive (temperature, gain,
    concentration), of the log odds of what lies between 0 and 1 (strength).  ``dist.LogNormal(m,
    s)`` for a positive parameter says the same as ``(m, s)``.

    Args:
        values: (location, scale), or a NumPyro ``Normal`` or ``LogNormal``, by the name of a
            parameter or of its site.
        strict: whether every name must be one of the channel's.
        base: a learned prior of the parameters that are not named.

    Raises:
        InputError: a value is neither.
    """

    def __init__(
        self, values: Mapping[str, Any], strict: bool = True, base: LearnedPrior | None = None
    ):
        """Check the pairs; distributions are checked where the parameter is known."""
        self.values = {name: _checked(name, value) for name, value in values.items()}
        self.strict = strict
        self.base = base

    @property
    def key(self) -> tuple:
        """What tells it from others: equal for equal numbers."""
        return (
            self.strict,
            id(self.base),
            *((name, _as_key(value)) for name, value in self.values.items()),
        )

    def of(self, target: Target, spread: float = TYPICAL_SPREAD) -> Prior:
        """The prior of a channel.

        Args:
            target: the channel.
            spread: of the readings that it is for, nats.

        Returns:
            Location and scale of its unconstrained parameters.

        Raises:
            InputError: a name is none of the channel's, a prior is not Gaussian on the
                unconstrained scale, or the model's own is not and cannot be replaced.
        """
        learned = self.base is not None and target.channel.name in self.base.channels
        return self.over(target, self.base.of(target, spread) if self.base and learned else None)

    def over(self, target: Target, start: Prior | None = None) -> Prior:
        """The prior of a channel, with another one of the parameters that are not named."""
        loc, scale = (np.array(part) for part in start or target.prior)
        if self.strict:
            check_used(self.values, [target])
        for site in target.sites:
            named = {site.name, site.parameter} & self.values.keys()
            if len(named) > 1:
                raise InputError(
                    f"{site.name!r} and {site.parameter!r} are one parameter: give the prior once."
                )
            for name in named:
                loc[site.slice], scale[site.slice] = _gaussian(name, self.values[name], site)
        return target.check_prior(Prior(loc, scale))


def _as_key(value: Any) -> tuple:
    if not isinstance(value, dist.Distribution):
        return tuple(part.tobytes() for part in value)
    # The distribution itself would do, but compares by identity, which is used again.
    leaves, structure = jax.tree.flatten(value)
    return structure, *(np.asarray(leaf).tobytes() for leaf in leaves)


def check_used(names: Iterable[str], targets: Iterable[Target]) -> None:
    """Refuse a name that no channel has a parameter of.

    Raises:
        InputError: there is one; the message lists those that there are.
    """
    sites = [site for target in targets for site in target.sites]
    known = {name: None for site in sites for name in (site.parameter, site.name)}
    unknown = [name for name in names if name not in known]
    if unknown:
        parameters = dict.fromkeys(site.parameter for site in sites)
        raise InputError(
            f"prior names {unknown[0]!r}, which is no parameter here; the parameters are "
            f"{', '.join(parameters)}."
        )


def _checked(name: str, value: Any) -> Any:
    if isinstance(value, dist.Distribution):
        return value
    try:
        loc, scale = (np.asarray(part, np.float64) for part in value)
    except (OverflowError, TypeError, ValueError):
        raise InputError(
            f"the prior of {name!r} must be a location and a scale, or a NumPyro distribution; got "
            f"{quote(value)}."
        ) from None
    if not (np.isfinite(loc).all() and np.isfinite(scale).all() and (scale > 0).all()):
        raise InputError(
            f"the prior of {name!r} must have a finite location and a scale above 0; got "
            f"{quote(value)}."
        )
    return loc, scale


def _gaussian(name: str, value: Any, site: Site) -> tuple[np.ndarray, np.ndarray]:
    """Location and scale of a site's flat coordinates."""
    found = as_gaussian(value, site) if isinstance(value, dist.Distribution) else value
    if found is None:
        raise InputError(
            f"the prior of {name!r} must be Gaussian on the unconstrained scale (Normal for a real "
            "parameter, LogNormal for a positive one, location and scale of the log odds for one "
            f"between 0 and 1); got {type(value).__name__}. Another kind "
            "of prior belongs in the channel's file."
        )
    try:
        loc, scale = (np.ravel(np.broadcast_to(part, site.shape)) for part in found)
    except ValueError:
        raise InputError(
            f"the prior of {name!r} must have one location and scale"
            + (f", or {site.shape} of them." if site.shape else ".")
        ) from None
    return loc, scale
