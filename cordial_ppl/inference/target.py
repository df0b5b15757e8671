r"""The flat log density of a NumPyro model, and the way back from flat vectors to named parameters.

This is the one file that knows how NumPyro traces a model.  Everything above works on vectors
``u`` of unconstrained parameters.  A prior that is a fixed Gaussian in the unconstrained space is
evaluated from its location and scale, which are arguments and not constants: priors that were
overridden or learned run through the same compiled program.
"""

from functools import lru_cache
from threading import RLock
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Float, Int
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.distributions.transforms import IndependentTransform

from cordial_ppl.channel import LABEL_SITE, LOG_ODDS_SUFFIX, Channel, Ordinal
from cordial_ppl.errors import ChannelError, InputError
from cordial_ppl.inference.noise import standard_normal
from cordial_ppl.readings import Readings

PROBE_DRAWS = 256
HANDLERS = RLock()
"""NumPyro keeps its stack of handlers in one global list: two threads must not trace at once."""


class Prior(NamedTuple):
    """Location and scale of every unconstrained parameter, each of shape ``[P]``."""

    loc: Float[Any, " P"]
    scale: Float[Any, " P"]


class Site(NamedTuple):
    """One sampled parameter of a model.

    Attributes:
        name: the site's name.
        shape: shape of its unconstrained value.
        slice: where it lies in the flat vector.
        transform: bijection from the unconstrained value to the parameter.
        parameter: name of the parameter in its own units.
        gaussian: whether its prior is a fixed Gaussian in the unconstrained space.
    """

    name: str
    shape: tuple[int, ...]
    slice: slice
    transform: Any
    parameter: str
    gaussian: bool


class Target:
    """Log density, parameters and predictions of a channel as functions of a flat vector.

    Built by :func:`build_target`; equal only to itself, so that it can be a static argument.

    Attributes:
        channel: the channel.
        sites: its sampled parameters, in the order in which the model samples them.
        prior: default location and scale of the flat vector, NumPy float64.
        size: number of unconstrained parameters P.
    """

    def __init__(self, channel: Channel, sites: tuple[Site, ...], prior: Prior):
        self.channel = channel
        self.sites = sites
        self.prior = prior
        self.size = len(prior.loc)

    @property
    def coordinates(self) -> list[str]:
        """Names of the flat vector's coordinates, such as ``bias[2]``."""
        return [
            site.name + (f"[{','.join(map(str, index))}]" if index else "")
            for site in self.sites
            for index in np.ndindex(site.shape)
        ]

    def unravel(self, flat: Float[Array, " P"]) -> dict[str, Array]:
        """Split a flat vector into the unconstrained value of each site."""
        return {site.name: flat[site.slice].reshape(site.shape) for site in self.sites}

    def parameters(self, flat: Float[Array, " P"]) -> dict[str, Array]:
        """Named parameters in their own units; a log odds becomes the parameter itself."""
        values = self.unravel(flat)
        return {
            site.parameter: jax.nn.sigmoid(values[site.name])
            if site.parameter != site.name
            else site.transform(values[site.name])
            for site in self.sites
        }

    def log_likelihood(
        self, flat: Float[Array, " P"], readings: Readings, labels: Int[Any, " n"]
    ) -> Float[Array, ""]:
        """Log likelihood of the labels in nats; rows labelled -1 count nothing."""
        trace = self._trace(flat, readings, labels)
        return jnp.sum(trace[LABEL_SITE]["fn"].log_prob(labels))

    def log_prior(
        self, flat: Float[Array, " P"], prior: Prior, readings: Readings
    ) -> Float[Array, ""]:
        """Log prior density of the unconstrained parameters in nats, Jacobian included."""
        terms = dist.Normal(prior.loc, prior.scale).log_prob(flat)
        free = [site for site in self.sites if not site.gaussian]
        if not free:
            return jnp.sum(terms)
        with jax.numpy_dtype_promotion("standard"):
            trace, values = self._trace(flat, readings), self.unravel(flat)
            for site in free:
                u, value, fn = values[site.name], trace[site.name]["value"], trace[site.name]["fn"]
                jacobian = jnp.sum(site.transform.log_abs_det_jacobian(u, value))
                own = jnp.sum(fn.log_prob(value)) + jacobian
                terms = terms.at[site.slice].set((own / u.size).astype(terms.dtype))
        return jnp.sum(terms)

    def log_density(
        self, flat: Float[Array, " P"], prior: Prior, readings: Readings, labels: Int[Any, " n"]
    ) -> Float[Array, ""]:
        """Log of prior times likelihood in nats, as a density of the unconstrained parameters."""
        return self.log_prior(flat, prior, readings) + self.log_likelihood(flat, readings, labels)

    def probs(self, flat: Float[Array, " P"], readings: Readings) -> Float[Array, "n K"]:
        """Probabilities of the options for each text."""
        return self._trace(flat, readings)[LABEL_SITE]["fn"].probs

    def sample_prior(
        self, key: jax.Array, prior: Prior, readings: Readings, draws: int
    ) -> Float[Array, "S P"]:
        """Draw unconstrained vectors from the prior."""
        loc, scale = jnp.asarray(prior.loc), jnp.asarray(prior.scale)
        normal_key, model_key = jax.random.split(key)
        noise = standard_normal(normal_key, (draws, self.size), loc.dtype)
        flat = loc[None] + scale[None] * noise
        if not all(site.gaussian for site in self.sites):
            keys = jax.random.split(model_key, draws)
            flat = jax.vmap(lambda k, u: _sample(self.channel, self.sites, k, readings, u))(
                keys, flat
            )
        return flat

    def check_prior(self, prior: Prior) -> Prior:
        """Return a prior that may replace the default one.

        Raises:
            InputError: it has another length, a scale that is not positive, or it would replace a
                prior that is not a fixed Gaussian in the unconstrained space.
        """
        loc, scale = (np.asarray(part, np.float64) for part in prior)
        if loc.shape != (self.size,) or scale.shape != (self.size,):
            raise InputError(
                f"a prior of channel {self.channel.name!r} has {self.size} locations and scales, "
                f"one for each of {', '.join(self.coordinates)}; got {loc.shape} and {scale.shape}."
            )
        if not (np.isfinite(loc).all() and np.isfinite(scale).all() and (scale > 0).all()):
            raise InputError("the locations of a prior must be finite and its scales positive.")
        for site in self.sites:
            own = [part[site.slice] for part in self.prior]
            given = [part[site.slice] for part in (loc, scale)]
            if not site.gaussian and not all(map(np.array_equal, own, given)):
                raise InputError(
                    f"the prior of {site.name!r} is not a fixed Gaussian in the unconstrained "
                    "space: change it in the channel's file."
                )
        return Prior(loc, scale)

    def _trace(self, flat: Array, readings: Readings, labels: Any = None) -> dict[str, Any]:
        values = self.unravel(flat)
        data = {site.name: site.transform(values[site.name]) for site in self.sites}
        model = handlers.seed(handlers.substitute(self.channel.model, data=data), 0)
        return _run(model, readings, labels)


@lru_cache(maxsize=256)
def build_target(channel: Channel, size: int, covariates: tuple[str, ...] = ()) -> Target:
    """Trace a channel once and describe its flat parameter vector.

    Args:
        channel: the channel to describe.
        size: number of options K.
        covariates: names of the per-text covariates that the readings carry.

    Returns:
        The target, cached for these arguments.

    Raises:
        ChannelError: the model has no or several ``label`` sites, a discrete parameter or
            probabilities of another shape than ``[n, K]``, raises an error, or cannot be traced
            because it branches on a sampled value.
    """
    readings = Readings(
        np.zeros((2, size)), np.full(size, 1 / size), {name: np.zeros(2) for name in covariates}
    )
    ramp = np.arange(1.0, size + 1)
    other = Readings(
        np.stack([ramp, -ramp]),
        ramp / ramp.sum(),
        {name: np.array([0.5, -2.0]) for name in covariates},
    )
    sites: list[Site] = []
    keys = jax.random.split(jax.random.key(0), PROBE_DRAWS)
    with jax.enable_x64(True):
        try:
            probe = jax.jit(lambda *both: _probe(channel, both, keys, sites))
            first, second = probe(readings, other)
            fixed = [
                own is not None and all(map(np.array_equal, own, other))
                for own, other in zip(first, second, strict=True)
            ]
            sites = [site._replace(gaussian=g) for site, g in zip(sites, fixed, strict=True)]
            if not all(fixed):
                draw = jax.vmap(lambda r, k: _sample(channel, tuple(sites), k, r), (None, 0))
                draws = np.asarray(jax.jit(draw)(readings, keys))
        except (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError) as error:
            raise ChannelError(
                f"channel {channel.name!r} cannot be traced: it branches on, or takes out of JAX, "
                "a value that depends on a sampled parameter; use jnp.where and jax.numpy instead."
            ) from error
        except ChannelError:
            raise
        except Exception as error:
            raise ChannelError(
                f"running the model of channel {channel.name!r} failed: {error!r}"
            ) from error
    moments = [
        [np.ravel(m) for m in own]
        if site.gaussian
        else [moment(draws[:, site.slice], axis=0) for moment in (np.mean, np.std)]
        for site, own in zip(sites, first, strict=True)
    ]
    loc, scale = (np.concatenate(m) for m in zip(*moments, strict=True))
    return Target(channel, tuple(sites), Prior(loc, scale))


def _probe(
    channel: Channel, readings: tuple[Readings, Readings], keys: jax.Array, sites: list[Site]
) -> list[list[tuple[Array, Array] | None]]:
    """Fill ``sites``; return each site's Gaussian prior in two runs of the model.

    The runs differ in the draws and in the readings: a Gaussian whose location or scale depends on
    another parameter, or on the texts, differs between them.
    """
    traces = [
        _run(handlers.seed(channel.model, key), each)
        for key, each in zip(keys[:2], readings, strict=True)
    ]
    sites[:] = _describe(channel, traces[0], readings[0].logits.shape)
    return [[_gaussian(trace[site.name], site.transform) for site in sites] for trace in traces]


def _run(model: Any, *arguments: Any) -> dict[str, Any]:
    # A model's own constants may be of another precision than what it is given.
    with HANDLERS, jax.numpy_dtype_promotion("standard"):
        return handlers.trace(model).get_trace(*arguments)


def _describe(channel: Channel, trace: dict[str, Any], shape: tuple[int, ...]) -> list[Site]:
    sampled = {name: s for name, s in trace.items() if s["type"] == "sample"}
    label = sampled.pop(LABEL_SITE, None)
    if label is None or not isinstance(label["fn"], Ordinal):
        raise ChannelError(
            f"channel {channel.name!r} states no likelihood: end the model with "
            "observe(log_probs, labels), with log_probs of shape [n, K]."
        )
    found = (*label["fn"].batch_shape, label["fn"].size)
    if found != shape:
        raise ChannelError(
            f"channel {channel.name!r} must give log_probs of shape [n, K] = {list(shape)}; "
            f"it gave {list(found)}."
        )
    sites, start = [], 0
    for name, site in sampled.items():
        if site["is_observed"] or site["fn"].support.is_discrete:
            kind = "a second observed" if site["is_observed"] else "a discrete"
            raise ChannelError(
                f"channel {channel.name!r} has {kind} site {name!r}: every site besides the label "
                "must be a continuous parameter (sum discrete ones out)."
            )
        transform = biject_to(site["fn"].support)
        shape = jnp.shape(transform.inv(site["value"]))
        stop = start + int(np.prod(shape))
        # What `sample_log_odds` records beside its site is the parameter in its own units.
        twin = name.removesuffix(LOG_ODDS_SUFFIX)
        recorded = twin in trace and trace[twin]["type"] == "deterministic"
        parameter = twin if recorded else name
        sites.append(Site(name, shape, slice(start, stop), transform, parameter, False))
        start = stop
    if not sites:
        raise ChannelError(f"channel {channel.name!r} samples no parameter.")
    return sites


def _sample(
    channel: Channel,
    sites: tuple[Site, ...],
    key: jax.Array,
    readings: Readings,
    flat: Array | None = None,
) -> Array:
    """Draw every site from the model, or those that ``flat`` does not give as fixed Gaussians."""
    given = {
        site.name: site.transform(flat[site.slice].reshape(site.shape))
        for site in sites
        if flat is not None and site.gaussian
    }
    trace = _run(handlers.seed(handlers.substitute(channel.model, data=given), key), readings)
    with jax.numpy_dtype_promotion("standard"):
        drawn = [jnp.ravel(site.transform.inv(trace[site.name]["value"])) for site in sites]
    kind = drawn[0].dtype if flat is None else flat.dtype
    return jnp.concatenate([part.astype(kind) for part in drawn])


def _gaussian(site: dict[str, Any], transform: Any) -> tuple[Array, Array] | None:
    """Location and scale of a prior that is Gaussian in the unconstrained space, else None."""
    fn: Any = site["fn"]
    while isinstance(fn, dist.Independent | dist.ExpandedDistribution):
        fn = fn.base_dist
    if isinstance(fn, dist.TransformedDistribution):
        # Around a vector the same transform is wrapped to count its event dimension.
        while isinstance(transform, IndependentTransform):
            transform = transform.base_transform
        same = len(fn.transforms) == 1 and type(fn.transforms[0]) is type(transform)
        fn = fn.base_dist if same else None
    if not isinstance(fn, dist.Normal):
        return None
    normal: Any = fn
    shape = jnp.shape(site["value"])
    return jnp.broadcast_to(normal.loc, shape), jnp.broadcast_to(normal.scale, shape)
