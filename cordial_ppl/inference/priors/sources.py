"""What an estimator may be given as its prior, and the numbers that follow from it."""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from cordial_ppl.errors import InputError, as_path, quote
from cordial_ppl.inference.priors.fits import TYPICAL_SPREAD, RelativePrior
from cordial_ppl.inference.priors.learned import LearnedPrior
from cordial_ppl.inference.sites import Site
from cordial_ppl.inference.target import Prior, Target

OWN = "own"
"""Names the priors in the channels' files."""


class NamedPrior:
    r"""Priors for some parameters, by name; other priors are learned or from the channel's file.

    A pair of numbers is the location and scale in the unconstrained space: of the parameter itself
    for an offset or a bias, of the logarithm for a positive parameter (temperature, gain,
    concentration), and of the log odds for a parameter between 0 and 1 (strength). For a positive
    parameter, ``dist.LogNormal(m, s)`` is equivalent to ``(m, s)``.

    Args:
        values: (location, scale), or a NumPyro ``Normal`` or ``LogNormal``, by the name of a
            parameter or of its site.
        base: a learned prior for the other parameters.

    Raises:
        InputError: a value is neither a pair nor such a distribution.
    """

    def __init__(self, values: Mapping[str, Any], base: LearnedPrior | None = None):
        """Check the pairs; distributions are checked where the parameter is known."""
        self.values = {name: _check(name, value) for name, value in values.items()}
        self.base = base

    @property
    def key(self) -> tuple:
        """Equal for priors with equal numbers."""
        # Distributions compare by identity; their parameters do not.
        leaves, structure = jax.tree.flatten(self.values)
        numbers = [(np.shape(leaf), np.asarray(leaf).tobytes()) for leaf in leaves]
        return id(self.base), structure, *numbers

    def of(self, target: Target, spread: float = TYPICAL_SPREAD) -> Prior:
        """Derive the prior of a channel.

        Args:
            target: the channel.
            spread: of the readings that it is for, nats.

        Returns:
            Location and scale of its unconstrained parameters.

        Raises:
            InputError: a prior is not Gaussian in the unconstrained space, or the model's prior is
                not and cannot be replaced.
        """
        base, name = self.base, target.channel.name
        start = base.of(target, spread) if base and name in base.channels else target.prior
        return self.over(target, start)

    def over(self, target: Target, start: Prior) -> Prior:
        """Replace the named parameters in the prior ``start`` of a channel."""
        loc, scale = map(np.array, start)
        for site in target.sites:
            named = {site.name, site.parameter} & self.values.keys()
            if len(named) > 1:
                raise InputError(
                    f"{site.name!r} and {site.parameter!r} are the same parameter. Pass only one."
                )
            for name in named:
                loc[site.slice], scale[site.slice] = _gaussian(name, self.values[name], site)
        return target.check_prior(Prior(loc, scale))


ChannelPrior = Prior | RelativePrior | LearnedPrior | NamedPrior | None
"""The prior of one channel: given, saved, learned, by names of parameters, or of its file."""


@dataclass(frozen=True, eq=False)
class Priors:
    """The priors of an estimator's channels.

    Attributes:
        by_channel: by name of the channel.
        shared: by the name of a parameter, of any channel whose prior in ``by_channel`` does not
            name it.
        learned: of the other channels, where it was learned with them.
    """

    by_channel: Mapping[str, Prior | RelativePrior | NamedPrior] = field(default_factory=dict)
    shared: NamedPrior | None = None
    learned: LearnedPrior | None = None

    def of(self, channel: str) -> ChannelPrior:
        """Return the prior of a channel; None if it keeps that of its file."""
        learned = self.learned if self.learned and channel in self.learned.channels else None
        source = self.by_channel.get(channel, self.shared or learned)
        if self.shared and isinstance(source, NamedPrior):
            return NamedPrior(self.shared.values | source.values, source.base)
        return source

    def check(self, targets: Collection[Target]) -> None:
        """Refuse the name of a parameter that the channel does not have, or none of the channels.

        Raises:
            InputError: there is one; the message lists the parameters.
        """
        named = [(self.by_channel.get(target.channel.name), [target]) for target in targets]
        for prior, channels in [*named, (self.shared, targets)]:
            sites = [site for target in channels for site in target.sites]
            names = {name for site in sites for name in (site.parameter, site.name)}
            if unknown := set(prior.values if isinstance(prior, NamedPrior) else ()) - names:
                raise InputError(
                    f"unknown parameter {min(unknown)!r} in prior. The parameters are "
                    f"{', '.join(dict.fromkeys(site.parameter for site in sites))}."
                )


def as_priors(prior: Any, channels: Collection[str], default: LearnedPrior | None = None) -> Priors:
    """Check what an estimator was given as its prior; a file is read.

    Args:
        prior: a mapping by the name of a channel (to a ``Prior`` or to a mapping by the name of a
            parameter) or of a parameter of any channel; of a single channel also its ``Prior``; a
            learned prior; the path of one's file; "own" for that of each channel's file; None for
            the default; or checked ``Priors``.
        channels: names of the estimator's channels.
        default: a learned prior, also of what a mapping does not name.

    Raises:
        InputError: it is none of these, or is for other channels.
        FileError: the file cannot be read or holds no learned prior.
    """
    if isinstance(prior, Priors):
        return prior
    if isinstance(prior, Prior) and len(channels) == 1:
        return Priors(dict.fromkeys(channels, prior))
    if isinstance(prior, str) and prior == OWN:
        return Priors()
    if isinstance(prior, str | Path):
        path = as_path(prior)
        prior = _load(path, path.stat().st_mtime_ns if os.path.isfile(path) else 0)
    if isinstance(prior, LearnedPrior):
        if channels and not set(channels) & set(prior.channels):
            raise InputError(
                f"the prior was learned for {', '.join(prior.channels)}, but the channels are "
                f"{', '.join(channels)}. Learn a prior for these channels."
            )
        return Priors(learned=prior)
    if not isinstance(prior, Mapping | None):
        raise InputError(
            "prior must map names of channels or parameters to priors, or be a learned prior, the "
            f"path of a prior file, or {OWN!r}; got {type(prior).__name__}."
        )
    by_channel: dict[str, Prior | NamedPrior] = {}
    shared: dict[str, Any] = {}
    for name, value in (prior or {}).items():
        if not isinstance(value, Prior | NamedPrior | Mapping):
            shared[name] = value
        elif name in channels:
            by_channel[name] = NamedPrior(value, default) if isinstance(value, Mapping) else value
        else:
            names = f"only the channels {', '.join(channels)}" if channels else "no channel"
            raise InputError(f"prior may name {names}; got {name!r}.")
    if shared and not channels:
        raise InputError(f"the stack has no channel, so prior cannot name {next(iter(shared))!r}.")
    return Priors(by_channel, NamedPrior(shared, default) if shared else None, default)


def resolve(source: ChannelPrior, target: Target, spread: float) -> Prior | None:
    """Return the prior of a channel on its scale; None if it keeps that of its file.

    Args:
        source: where it comes from.
        target: the channel.
        spread: of the readings, nats.

    Raises:
        InputError: what was given or learned does not fit the channel.
    """
    return source if isinstance(source, Prior | None) else source.of(target, spread)


@lru_cache(maxsize=64)
def _load(path: Path, _: int) -> LearnedPrior:
    """Read a file once for each time that it was changed, so that estimators share the prior."""
    return LearnedPrior.load(path)


def _check(name: str, value: Any) -> Any:
    """Return a distribution, or location and scale as arrays."""
    if hasattr(value, "log_prob"):
        return value
    try:
        loc, scale = (np.asarray(part, np.float64) for part in value)
        if np.isfinite(loc).all() and np.isfinite(scale).all() and (scale > 0).all():
            return loc, scale
    except (OverflowError, TypeError, ValueError):
        pass
    raise InputError(
        f"the prior of {name!r} must be a location and a positive scale, both finite, or a NumPyro "
        f"distribution; got {quote(value)}."
    )


def _gaussian(name: str, value: Any, site: Site) -> tuple[np.ndarray, np.ndarray]:
    """Return location and scale of a site's unconstrained values."""
    from cordial_ppl.inference.tracing import as_gaussian

    normal = as_gaussian(value, site) if hasattr(value, "log_prob") else value
    if normal is None:
        raise InputError(
            f"the prior of {name!r} must be Gaussian on the unconstrained scale: pass Normal for "
            "a real parameter, LogNormal for a positive parameter, or the location and scale of "
            f"the log odds for a parameter between 0 and 1; got {type(value).__name__}. Put any "
            "other kind of prior in the channel file."
        )
    try:
        loc, scale = (np.ravel(np.broadcast_to(part, site.shape)) for part in normal)
    except ValueError:
        several = f", or arrays of shape {site.shape}" if site.shape else ""
        raise InputError(
            f"the prior of {name!r} must have one location and one scale{several}."
        ) from None
    return loc, scale
