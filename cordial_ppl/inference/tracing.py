"""Tracing a channel's model: its sampled parameters, their priors, the covariates it asks for."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import RLock
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpyro import distributions as dist
from numpyro import handlers
from numpyro.distributions import biject_to

from cordial_ppl.channels.channel import LABEL_SITE, LOG_ODDS_SUFFIX, Channel, count_levels
from cordial_ppl.channels.faults import PRIOR, Contract
from cordial_ppl.channels.likelihood import Likelihood
from cordial_ppl.channels.ordinal import without_masks
from cordial_ppl.data.covariates import split_vectors
from cordial_ppl.data.readings import Readings
from cordial_ppl.errors import ChannelError, CordialError, InputError, say_error
from cordial_ppl.inference.sites import Site, make_readings, name_kind
from cordial_ppl.runtime.compilation import ONCE, compiled
from cordial_ppl.runtime.garbage import paused
from cordial_ppl.runtime.platform import counting_memory, on_host

PROBE_DRAWS = 256
TRIED = 2
"""Texts that a model is first tried with."""

HANDLERS = RLock()
"""NumPyro keeps its stack of handlers in one global list: two threads must not trace at once."""


def describe(
    channel: Channel, size: int, covariates: tuple[str, ...], readers: int | None
) -> tuple[tuple[Site, ...], Float[np.ndarray, " P"], Float[np.ndarray, " P"]]:
    """Find a channel's parameters, and the location and scale of their priors.

    The model runs twice, with different draws and texts: a Gaussian whose location or scale depends
    on another parameter, or on the texts, differs between the runs and is not fixed.
    Priors that are no fixed Gaussians are described by the moments of draws.

    Arguments and errors are those of `cordial_ppl.inference.target.build_target`.

    Returns:
        The sites in the order in which the model samples them; location and scale of the flat
        vector of unconstrained parameters.
    """
    ramp, values = np.arange(1.0, size + 1), [0.5, -2.0, 1.0, 0.0, 2.0]
    steep = np.outer([1.0, -1.0, 0.5, 2.0, -2.0], ramp), ramp / ramp.sum()
    silent = np.zeros((2, size)), np.full(size, 1 / size)
    examples = [
        make_readings(channel, readers, *silent, dict.fromkeys(covariates, [0.0, 0.0])),
        make_readings(channel, readers, *steep, dict.fromkeys(covariates, values)),
    ]
    keys = jax.random.split(jax.random.key(0), PROBE_DRAWS)
    sites: list[Site] = []

    def probe(*both: Readings) -> tuple[list[list[tuple[Array, Array] | None]], list[list[Any]]]:
        """Fill ``sites``; return their Gaussian priors and transforms in two runs of the model."""
        traces = [run_model(channel, one, key=key) for key, one in zip(keys[:2], both, strict=True)]
        sites[:] = _find_sites(channel, traces[0], (2, size), covariates)
        for name in (site.name for site in sites):
            shapes = [jnp.shape(trace[name]["value"]) for trace in traces if name in trace]
            if shapes != shapes[:1] * 2:
                raise ChannelError(_refuse_texts(channel, name))
        normals = [
            [None if site.scaled else as_gaussian(trace[site.name]["fn"], site) for site in sites]
            for trace in traces
        ]
        return normals, [
            [biject_to(trace[site.name]["fn"].support) for site in sites] for trace in traces
        ]

    with paused(), on_host(), jax.enable_x64(True), explaining(channel, size):
        normals, transforms = jax.device_get(compiled(probe, **ONCE)(*examples))
        pairs = zip(*normals, strict=True)
        normals = [one if one and np.array_equal(one, other) else None for one, other in pairs]
        for index, (site, *pair) in enumerate(zip(sites, *transforms, strict=True)):
            if not all(map(np.array_equal, *map(jax.tree.leaves, pair))):
                raise ChannelError(
                    f"in channel {channel.name!r}, the support of {site.name!r} depends on another "
                    "parameter or on the texts. Use a fixed support, such as (0, 1), and rescale "
                    "the value in the model."
                )
            # Of arrays, in place of what was traced.
            sites[index] = site._replace(transform=pair[0])
        if None in normals:
            run = jax.vmap(lambda key, each: sample_sites(channel, sites, key, each), (0, None))
            draws = np.asarray(compiled(run, **ONCE)(keys, examples[0]))
            moments = draws.mean(axis=0), draws.std(axis=0)
    loc, scale = np.empty((2, sites[-1].slice.stop))
    for index, (site, normal) in enumerate(zip(sites, normals, strict=True)):
        sites[index] = site._replace(gaussian=normal is not None)
        values = normal or [part[site.slice] for part in moments]
        loc[site.slice], scale[site.slice] = map(np.ravel, values)
    return tuple(sites), loc, scale


@contextmanager
def explaining(channel: Channel, size: int) -> Iterator[None]:
    """Turn any error of a channel's model into one that says what is wrong with the model."""
    try:
        with counting_memory():
            yield
    except ChannelError as error:
        if repr(channel.name) in str(error):
            raise
        raise ChannelError(f"channel {channel.name!r}: {error}") from error
    except CordialError:
        raise
    except (Exception, SystemExit) as error:
        name = error.args[0] if isinstance(error, KeyError) and error.args else None
        if name is not None and {name, f"{name}[0]"} & {*find_covariates(channel, size)}:
            raise InputError(
                f"channel {channel.name!r} needs the covariate {name!r}, with one value per text. "
                f"Pass covariates={{{name!r}: ...}} and check the spelling of names."
            ) from error
        raise ChannelError(_explain(channel, size, error)) from error


def _refuse_texts(channel: Channel, name: str) -> str:
    return (
        f"channel {channel.name!r} has a site {name!r} whose shape depends on the number of texts, "
        f"but parameters must not. Sample {name!r} outside the plate over texts."
    )


def _explain(channel: Channel, size: int, error: BaseException) -> str:
    """Say why a channel's model could not be traced."""
    leaving = jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError
    if isinstance(error, leaving):
        return (
            f"channel {channel.name!r} cannot be traced, because it branches on parameters, "
            "readings or labels, or converts them to NumPy. Use jnp.where and jax.numpy instead."
        )
    if isinstance(error, KeyError) and not isinstance(error.args[0], str):
        return (
            "covariates of a channel are looked up by name, as in readings.covariates['length']; "
            f"got {error.args[0]!r}."
        )
    if "unique name" in str(error):
        return (
            f"channel {channel.name!r} has two sites of the same name ({error}). Use a different "
            "name for each parameter, and call observe once."
        )
    words = say_error(error, channel.source)
    if isinstance(error, NotImplementedError):
        return f"channel {channel.name!r} has a prior that NumPyro cannot use ({words}): {PRIOR}."
    # The model may have failed where what it sampled for each text met the options.
    few, more = (_try(channel, size, rows)[1] for rows in (TRIED, TRIED + 1))
    for name, shape in few.items():
        if more.get(name, shape) != shape:
            return _refuse_texts(channel, name)
    tried = f" (tried with {TRIED} texts and {size} options)" if "shape" in words else ""
    return f"the model of channel {channel.name!r} raised an error: {words}{tried}"


class _Wanted(dict):
    """Covariates that are there as soon as they are asked for: none is optional."""

    def __init__(self, rows: int, widths: Mapping[str, int]):
        super().__init__()
        self.rows, self.widths = rows, widths

    def __missing__(self, name: Any) -> Any:
        width = [self.widths[name]] if name in self.widths else []
        return self.setdefault(name, np.ones((self.rows, *width)))

    def __contains__(self, name: object) -> bool:
        return self[name] is not None

    def get(self, name: Any, default: Any = None) -> Any:
        """Ask for one."""
        return self[name]


def find_covariates(channel: Channel, size: int) -> tuple[str, ...]:
    """List the per-text covariates that a channel's model asks for, in the order of asking.

    What else is wrong with the model is for ``describe`` to say.

    Args:
        channel: the channel to run.
        size: number of options K.
    """
    wanted, _ = _try(channel, size)
    names = [name for name in wanted if isinstance(name, str)]
    return tuple(key for name in names for key in split_vectors(name, wanted[name]))


class _Recorded(Mapping):
    """Covariates that note which of them a model looks up; a loop over them looks up all."""

    def __init__(self, covariates: Mapping[str, Any], used: set[str]):
        self.covariates, self.used = covariates, used

    def __getitem__(self, name: str) -> Any:
        value = self.covariates[name]
        self.used.add(name)
        return value

    def __iter__(self) -> Iterator[str]:
        self.used.update(self.covariates)
        return iter(self.covariates)

    def __len__(self) -> int:
        return len(self.covariates)


def find_used(channel: Channel, readings: Readings) -> set[str] | None:
    """Find the covariates that a channel's model looks up, vectors whole; None where it fails."""
    used: set[str] = set()

    def record(readings: Readings, labels: Any = None) -> Any:
        covariates = _Recorded(readings.covariates, used)
        return channel.model(readings._replace(covariates=covariates), labels)

    model = handlers.seed(Contract(Likelihood(record), channel.name), 0)
    try:
        with jax.enable_x64(True), HANDLERS, jax.numpy_dtype_promotion("standard"):
            jax.eval_shape(lambda: model(readings))
    except (Exception, SystemExit):
        return None
    return used


def _try(
    channel: Channel, size: int, rows: int = TRIED
) -> tuple[_Wanted, dict[str, tuple[int, ...]]]:
    """Run a model as far as it goes; return what it asks for, and shapes of what it samples."""
    entries = Counter(name.partition("[")[0] for name, *_ in channel.examples if "[" in name)
    wanted, shape = _Wanted(rows, entries), (rows, 1, size) if channel.several else (rows, size)
    readings = Readings(np.zeros(shape), np.full(size, 1 / size), wanted)
    contract = Contract(Likelihood(channel.model), channel.name)
    with suppress(Exception, SystemExit), jax.enable_x64(True), HANDLERS:
        with jax.numpy_dtype_promotion("standard"):
            jax.eval_shape(lambda: handlers.seed(contract, 0)(readings))
    return wanted, contract.shapes


def run_model(
    channel: Channel,
    readings: Readings,
    labels: Any = None,
    *,
    values: Mapping[str, Any] | None = None,
    key: Any = 0,
) -> dict[str, Any]:
    """Trace of a channel's model by site, with the given values; the other sites are drawn."""
    model = Contract(Likelihood(channel.model), channel.name)
    model = handlers.seed(handlers.substitute(model, data=dict(values or {})), key)
    # A model's own constants may be of another precision than what it is given.
    with HANDLERS, jax.numpy_dtype_promotion("standard"):
        return handlers.trace(model).get_trace(readings, labels)


def sample_sites(
    channel: Channel,
    sites: Sequence[Site],
    key: jax.Array,
    readings: Readings,
    flat: Array | None = None,
) -> Array:
    """Draw every site from the model, or those that ``flat`` does not give as fixed Gaussians."""
    values = {site.name: site.value(flat) for site in sites if flat is not None and site.gaussian}
    trace = run_model(channel, readings, values=values, key=key)
    with jax.numpy_dtype_promotion("standard"):
        drawn = [jnp.ravel(site.transform.inv(trace[site.name]["value"])) for site in sites]
    kind = drawn[0].dtype if flat is None else flat.dtype
    return jnp.concatenate([part.astype(kind) for part in drawn])


def _find_sites(
    channel: Channel, trace: dict[str, Any], shape: tuple[int, int], covariates: Sequence[str]
) -> list[Site]:
    sampled = {name: s for name, s in trace.items() if s["type"] == "sample"}
    if (label := sampled.pop(LABEL_SITE, None)) is None:
        raise ChannelError(
            f"channel {channel.name!r} has no likelihood. End the model with observe(log_probs, "
            "labels), where log_probs has shape [n, K], or with one label site per text that "
            "takes values 0..K-1, such as numpyro.distributions.Categorical."
        )
    ordinal = without_masks(label["fn"])
    traced_shape = (*ordinal.batch_shape, ordinal.size)
    if traced_shape != shape:
        raise ChannelError(
            f"channel {channel.name!r} must return log_probs of shape [n, K] = {list(shape)}; got "
            f"{list(traced_shape)}."
        )
    sites, start = [], 0
    for name, site in sampled.items():
        transform = biject_to(site["fn"].support)
        extent = jnp.shape(transform.inv(site["value"]))
        index = slice(start, start := start + int(np.prod(extent)))
        # What `sample_log_odds` records beside its site is the parameter in its own units.
        twin = name.removesuffix(LOG_ODDS_SUFFIX)
        recorded = twin in trace and trace[twin]["type"] == "deterministic"
        parameter = twin if recorded else name
        scaled = site["scale"] is not None
        frames = sorted(site["cond_indep_stack"], key=lambda frame: frame.dim)
        for frame in frames:
            if frame.name in covariates and count_levels(channel).get(frame.name) != frame.size:
                level = f"LEVELS = {{{frame.name!r}: {frame.size}}}"
                raise ChannelError(
                    f"channel {channel.name!r} has a plate {frame.name!r} of size {frame.size}; "
                    f"the covariate {frame.name!r} must index this plate. Add {level} to the file, "
                    "or rename the plate."
                )
        plates = tuple(frame.name for frame in frames)
        sites.append(Site(name, extent, index, transform, parameter, False, scaled, plates))
    if not sites:
        raise ChannelError(f"channel {channel.name!r} has no parameter.")
    names = [site.parameter for site in sites]
    for name, _ in channel.parameters:
        if name not in names:
            raise ChannelError(
                f"channel {channel.name!r} describes an unknown parameter {name!r} in PARAMETERS. "
                f"The parameters are {', '.join(names)}."
            )
    return sites


def as_gaussian(fn: Any, site: Site) -> tuple[Array, Array] | None:
    """Return location and scale of what is Gaussian on a site's unconstrained scale.

    Args:
        fn: a NumPyro distribution of the site's values.
        site: the site.

    Returns:
        Arrays of the distribution's own unconstrained shape; None where it is no such Gaussian.
    """
    kind = name_kind(site.transform)
    if name_kind(biject_to(fn.support)) != kind:
        return None
    shape = site.transform.inverse_shape(fn.shape())
    fn = _without_shape(fn)
    if isinstance(fn, dist.TransformedDistribution):
        fn = _without_shape(fn.base_dist) if [*map(name_kind, fn.transforms)] == [kind] else None
    if not isinstance(fn, dist.Normal):
        return None
    normal: Any = fn
    with jax.enable_x64(True):
        return jnp.broadcast_to(normal.loc, shape), jnp.broadcast_to(normal.scale, shape)


def _without_shape(fn: Any) -> Any:
    while isinstance(fn, dist.Independent | dist.ExpandedDistribution):
        fn = fn.base_dist
    return fn
