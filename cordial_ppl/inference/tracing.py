"""Tracing a channel: its sampled parameters, their priors, and running it with some of them given.

This is the one file that knows how NumPyro traces a model.
"""

from collections.abc import Sequence
from contextlib import suppress
from threading import RLock
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Float
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.distributions.transforms import IndependentTransform
from numpyro.distributions.util import sum_rightmost

from cordial_ppl.channel import LABEL_SITE, LOG_ODDS_SUFFIX, Channel, Ordinal
from cordial_ppl.errors import ChannelError, InputError, say_error
from cordial_ppl.garbage import paused
from cordial_ppl.readings import Readings

PROBE_DRAWS = 256
RESERVED = frozenset({"chain", "draw", "label", "option", "prediction", "reader", "text"})
"""Names of ArviZ's dimensions, and of what is predicted."""

HANDLERS = RLock()
"""NumPyro keeps its stack of handlers in one global list: two threads must not trace at once."""


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

    def density(self, trace: dict[str, Any], u: Array) -> Array:
        """Log prior density of an unconstrained value in nats, unscaled, in the batch's shape.

        Args:
            trace: of the model with this value given.
            u: the unconstrained value.
        """
        value, fn = trace[self.name]["value"], trace[self.name]["fn"]
        logs, jacobian = fn.log_prob(value), self.transform.log_abs_det_jacobian(u, value)
        return logs + sum_rightmost(jacobian, jnp.ndim(jacobian) - jnp.ndim(logs))


def describe(
    channel: Channel, size: int, covariates: tuple[str, ...], readers: int | None = None
) -> tuple[tuple[Site, ...], Float[np.ndarray, " P"], Float[np.ndarray, " P"]]:
    """Find a channel's parameters, and the location and scale of their priors.

    The model runs twice, with different draws and texts: a Gaussian whose location or scale depends
    on another parameter, or on the texts, differs between the runs and is not fixed.
    Priors that are no fixed Gaussians are described by the moments of draws.

    Args:
        channel: the channel to describe.
        size: number of options K.
        covariates: names of the per-text covariates that the readings carry.
        readers: number of readers R of each text; None for a channel of one reader.

    Returns:
        The sites in the order in which the model samples them; location and scale of the flat
        vector of unconstrained parameters.

    Raises:
        InputError: the model uses a covariate that the readings do not carry.
        ChannelError: as ``build_target`` says.
    """
    readings = _examples(channel, size, covariates, readers)
    sites: list[Site] = []
    with paused(), jax.enable_x64(True):
        try:
            first, second = jax.jit(lambda *both: _probe(channel, both, sites))(*readings)
            fixed = [
                own is not None and all(map(np.array_equal, own, other))
                for own, other in zip(first, second, strict=True)
            ]
            sites = [site._replace(gaussian=g) for site, g in zip(sites, fixed, strict=True)]
            if not all(fixed):
                draws = np.asarray(jax.jit(lambda own: _draw(channel, sites, own))(readings[0]))
        except (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError) as error:
            raise ChannelError(
                f"channel {channel.name!r} cannot be traced: it branches on, or takes out of JAX, "
                "a value that depends on a sampled parameter; use jnp.where and jax.numpy instead."
            ) from error
        except (ChannelError, InputError):
            raise
        except AssertionError as error:
            if "unique name" not in str(error):
                raise
            raise ChannelError(
                f"channel {channel.name!r} has two sites of one name ({error}). Each parameter has "
                "its own name, and observe is called once."
            ) from error
        except Exception as error:
            raise ChannelError(
                f"running the model of channel {channel.name!r} failed: "
                f"{say_error(error, channel.source)}"
            ) from error
    moments = [
        [np.ravel(m) for m in own]
        if site.gaussian
        else [moment(draws[:, site.slice], axis=0) for moment in (np.mean, np.std)]
        for site, own in zip(sites, first, strict=True)
    ]
    loc, scale = (np.concatenate(m) for m in zip(*moments, strict=True))
    return tuple(sites), loc, scale


def find_covariates(channel: Channel, size: int) -> tuple[str, ...]:
    """Names of the per-text covariates that a channel's model asks for, in the order of asking.

    What else is wrong with the model is for ``describe`` to say.

    Args:
        channel: the channel to run.
        size: number of options K.
    """
    wanted = _Wanted()
    shape = (2, 1, size) if channel.several else (2, size)
    readings = Readings(np.zeros(shape), np.full(size, 1 / size), wanted)

    def run(key: jax.Array) -> None:
        run_model(handlers.seed(channel.model, key), readings)

    with suppress(Exception), jax.enable_x64(True):
        jax.eval_shape(run, jax.random.key(0))
    return tuple(wanted)


def _examples(
    channel: Channel, size: int, names: tuple[str, ...], readers: int | None
) -> tuple[Readings, ...]:
    """What a model is run with: readings of other texts, and of another number of them."""
    ramp, factors = np.arange(1.0, size + 1), np.array([1.0, -1.0, 0.5, 2.0, -2.0])
    found = []
    for logits, histogram, values in (
        (np.zeros((2, size)), np.full(size, 1 / size), [0.0, 0.0]),
        (np.outer(factors, ramp), ramp / ramp.sum(), [0.5, -2.0, 1.0, 0.0, 2.0]),
    ):
        if readers is not None:
            logits = np.repeat(logits[:, None], readers, axis=1)
        found.append(Readings(logits, histogram, make_covariates(channel, names, values)))
    return tuple(found)


def _probe(
    channel: Channel, readings: tuple[Readings, ...], sites: list[Site]
) -> list[list[tuple[Array, Array] | None]]:
    """Fill ``sites``; return each site's Gaussian prior in two runs of the model."""
    traces = [
        run_model(
            handlers.seed(channel.model, key),
            each._replace(covariates=_Covariates(each.covariates)),
        )
        for key, each in zip(_keys()[:2], readings, strict=True)
    ]
    texts, *_, size = readings[0].logits.shape
    sites[:] = _find_sites(channel, traces[0], (texts, size))
    for site in sites:
        shapes = [jnp.shape(trace[site.name]["value"]) for trace in traces if site.name in trace]
        if shapes != shapes[:1] * 2:
            raise ChannelError(
                f"channel {channel.name!r} has a site {site.name!r} whose shape depends on the "
                "number of texts: one set of parameters serves all texts."
            )
    return [[_gaussian(trace[site.name], site.transform) for site in sites] for trace in traces]


def _draw(channel: Channel, sites: list[Site], readings: Readings) -> Array:
    """Draw from the prior, to describe by moments what is no fixed Gaussian."""
    return jax.vmap(lambda key: sample_sites(channel, tuple(sites), key, readings))(_keys())


def _keys() -> Array:
    return jax.random.split(jax.random.key(0), PROBE_DRAWS)


def make_covariates(
    channel: Channel, names: Sequence[str], values: Sequence[float]
) -> dict[str, np.ndarray]:
    """Covariates to trace a channel with: these values, or levels where it knows nothing else."""
    count = dict(channel.levels)
    plain = np.array(values)
    return {
        name: np.clip(np.floor(plain), 0, count[name] - 1) if name in count else plain
        for name in names
    }


def run_model(model: Any, *arguments: Any) -> dict[str, Any]:
    """Trace of a model whose effect handlers are in place, by site."""
    # A model's own constants may be of another precision than what it is given.
    with HANDLERS, jax.numpy_dtype_promotion("standard"):
        return handlers.trace(model).get_trace(*arguments)


def _find_sites(channel: Channel, trace: dict[str, Any], shape: tuple[int, int]) -> list[Site]:
    sampled = {name: s for name, s in trace.items() if s["type"] == "sample"}
    label = sampled.pop(LABEL_SITE, None)
    ordinal = None if label is None else find_ordinal(label)
    if not isinstance(ordinal, Ordinal):
        raise ChannelError(
            f"channel {channel.name!r} states no likelihood: end the model with "
            "observe(log_probs, labels), with log_probs of shape [n, K]."
        )
    found = (*ordinal.batch_shape, ordinal.size)
    if found != shape:
        raise ChannelError(
            f"channel {channel.name!r} must give log_probs of shape [n, K] = {list(shape)}; "
            f"it gave {list(found)}."
        )
    sites, start = [], 0
    for name, site in sampled.items():
        _check_name(channel, name)
        if isinstance(site["fn"], dist.Unit):
            raise ChannelError(
                f"channel {channel.name!r} adds to its density by numpyro.factor({name!r}, ...): "
                "a prior belongs into numpyro.sample, and the likelihood into observe."
            )
        if site["is_observed"] or site["fn"].support.is_discrete:
            kind = "a second observed" if site["is_observed"] else "a discrete"
            raise ChannelError(
                f"channel {channel.name!r} has {kind} site {name!r}: every site besides the label "
                "must be a continuous parameter (sum discrete ones out)."
            )
        if isinstance(site["fn"], dist.MaskedDistribution):
            raise ChannelError(
                f"channel {channel.name!r} masks the prior of {name!r}: put numpyro.handlers.mask "
                "around observe alone."
            )
        transform = biject_to(site["fn"].support)
        own = jnp.shape(transform.inv(site["value"]))
        stop = start + int(np.prod(own))
        # What `sample_log_odds` records beside its site is the parameter in its own units.
        twin = name.removesuffix(LOG_ODDS_SUFFIX)
        recorded = twin in trace and trace[twin]["type"] == "deterministic"
        parameter = twin if recorded else name
        scaled = site["scale"] is not None
        frames = sorted(site["cond_indep_stack"], key=lambda frame: frame.dim)
        plates = tuple(frame.name for frame in frames)
        place = slice(start, stop)
        sites.append(Site(name, own, place, transform, parameter, False, scaled, plates))
        start = stop
    if not sites:
        raise ChannelError(f"channel {channel.name!r} samples no parameter.")
    return sites


def find_ordinal(label: dict[str, Any]) -> Any:
    """The distribution of a traced ``label`` site, without the masks around it."""
    fn = label["fn"]
    while isinstance(fn, dist.MaskedDistribution):
        fn = fn.base_dist
    return fn


def scaled_log_prob(site: dict[str, Any], value: Any) -> Array:
    """Log probability in nats of a value of a traced site, masked and scaled as the model says."""
    logs = site["fn"].log_prob(value)
    return logs if site["scale"] is None else site["scale"] * logs


def _check_name(channel: Channel, name: str) -> None:
    if name in RESERVED or "/" in name:
        raise ChannelError(
            f"channel {channel.name!r} has a site called {name!r}: a name must have no slash, and "
            f"be none of {', '.join(sorted(RESERVED))}, which are dimensions of its draws."
        )


def sample_sites(
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
    trace = run_model(handlers.seed(handlers.substitute(channel.model, data=given), key), readings)
    with jax.numpy_dtype_promotion("standard"):
        drawn = [jnp.ravel(site.transform.inv(trace[site.name]["value"])) for site in sites]
    kind = drawn[0].dtype if flat is None else flat.dtype
    return jnp.concatenate([part.astype(kind) for part in drawn])


def as_gaussian(fn: Any, site: Site) -> tuple[Array, Array] | None:
    """Location and scale of a distribution that is Gaussian on a site's unconstrained scale.

    Args:
        fn: a NumPyro distribution of the site's values.
        site: the site.

    Returns:
        Arrays of the distribution's own shape; None where it is no such Gaussian.
    """
    transforms = biject_to(fn.support), site.transform
    kinds = [
        type(t.base_transform if isinstance(t, IndependentTransform) else t) for t in transforms
    ]
    if kinds[0] is not kinds[1]:
        return None
    with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):
        return _gaussian({"fn": fn, "value": np.zeros(fn.batch_shape)}, site.transform)


def _gaussian(site: dict[str, Any], transform: Any) -> tuple[Array, Array] | None:
    """Location and scale of a prior that is Gaussian in the unconstrained space, else None."""
    fn: Any = site["fn"] if site.get("scale") is None else None
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


class _Wanted(dict):
    """Covariates that are there as soon as they are asked for."""

    def __missing__(self, name: Any) -> Any:
        if not isinstance(name, str):
            raise KeyError(name)
        self[name] = np.ones(2)
        return self[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self[name] is not None

    def get(self, name: Any, default: Any = None) -> Any:
        """Ask for one: a channel's covariates are not optional."""
        return self[name]


class _Covariates(dict):
    """Covariates that say what to do about one that is not there."""

    def __missing__(self, name: Any) -> Any:
        if not isinstance(name, str):
            raise ChannelError(
                f"a channel's covariates have names, as in readings.covariates['length']; it asks "
                f"for {name!r}."
            )
        raise InputError(
            f"the channel uses the covariate {name!r}, one number a text, which was not given: "
            f"covariates={{{name!r}: ...}}."
        )
