"""The flat log density of a channel, and the way back from flat vectors to named parameters.

Everything above works on vectors ``u`` of unconstrained parameters.  A prior that is a fixed
Gaussian in the unconstrained space is evaluated from its location and scale, which are arguments
and not constants: priors that were overridden or learned run through the same compiled program.
"""

from collections.abc import Callable
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.nn import sigmoid
from jaxtyping import Array, Float, Int

from cordial_ppl.channels import is_ours
from cordial_ppl.channels.channel import LABEL_SITE, Channel
from cordial_ppl.channels.parameters import SITES
from cordial_ppl.data.containers import as_numbers
from cordial_ppl.data.readings import Readings
from cordial_ppl.errors import ChannelError, InputError
from cordial_ppl.inference.sites import Site, list_sites, make_readings
from cordial_ppl.runtime.compilation import BUILDING, ONCE, compiled
from cordial_ppl.runtime.platform import on_host, start_jax


class Prior(NamedTuple):
    """Location and scale of every unconstrained parameter, each of shape ``[P]``."""

    loc: Float[Any, " P"]
    scale: Float[Any, " P"]


def convert_prior(prior: Prior, dtype: Any) -> Prior:
    """Convert a prior to another precision, in NumPy."""
    return Prior(*(np.asarray(part, dtype) for part in prior))


class Target:
    """Log density, parameters and predictions of a channel as functions of a flat vector.

    Built by :func:`build_target`; equal only to itself, so that it can be a static argument.

    Attributes:
        channel: the channel.
        sites: its sampled parameters, in the order in which the model samples them.
        prior: default location and scale of the flat vector, NumPy float64.
        size: number of unconstrained parameters P.
        options: number of options K.
        gaussian: whether the whole prior is a fixed Gaussian in the unconstrained space.
        wide: whether the model runs in double precision alone, as branches do whose constants are.
        made_up: texts to try it with, some of them labelled.
        seconds: what its compiled density took so far.
        pace: the least that it took for the probability of an option, seconds.
    """

    def __init__(self, channel: Channel, sites: tuple[Site, ...], prior: Prior, made_up: tuple):
        self.channel = channel
        self.sites = sites
        self.prior = prior
        self.size = len(prior.loc)
        self.made_up = made_up
        self.options = len(made_up[0].histogram)
        self.gaussian = all(site.gaussian for site in sites)
        self.wide = False
        self.seconds, self.pace = 0.0, np.inf

    @property
    def coordinates(self) -> list[str]:
        """Names of the flat vector's coordinates, such as ``bias[2]``."""
        return [
            site.name + (f"[{','.join(map(str, index))}]" if index else "")
            for site in self.sites
            for index in np.ndindex(site.shape)
        ]

    def name(self, draws: Float[np.ndarray, "S P"]) -> dict[str, Float[np.ndarray, "S ..."]]:
        """Name the parameters of draws of the unconstrained ones, in their own units."""
        with jax.enable_x64(True):
            values = map(np.asarray, self._values(draws))
        return dict(zip((site.parameter for site in self.sites), values, strict=True))

    @cached_property
    def _values(self) -> Callable[..., tuple[Array, ...]]:
        def run(flat: Array) -> tuple[Array, ...]:
            # A log odds becomes the parameter itself.
            return tuple(
                each.value(flat) if each.parameter == each.name else sigmoid(each.unravel(flat))
                for each in self.sites
            )

        return compiled(jax.vmap(run), name=self.name_program("parameters"))

    def name_program(self, purpose: str) -> str:
        """Name a program by what it follows from; "" for a channel of another's sources."""
        return f"{purpose} {self.channel.name}" if is_ours(self.channel) else ""

    def log_likelihood(
        self,
        flat: Float[Array, " P"],
        readings: Readings,
        labels: Int[Any, " n"],
        weights: Float[Any, " n"] | None = None,
    ) -> Float[Array, ""]:
        """Compute the log likelihood of the labels in nats, `sum_i w_i log p(z_i)`.

        Args:
            flat: the unconstrained vector.
            readings: the texts.
            labels: their options; -1 for a row that counts nothing.
            weights: what each label counts; one by default.
        """
        label = self._trace(flat, readings, labels)[LABEL_SITE]
        # The barrier keeps the sum out of the loop over logarithms, which is vectorised without it.
        scores = jax.lax.optimization_barrier(_score(label, labels))
        return jnp.sum(_weigh(scores, weights)).astype(flat.dtype)

    def log_powers(self, flat: Float[Array, " P"], readings: Readings) -> Float[Array, ""]:
        r"""Compute what scaled priors add to the log density in nats; 0 where none is scaled.

        .. math:: \sum_j (s_j - 1) \log p_j(u)

        Where a model scales a prior, :math:`p(u)^s`, what it draws still follows :math:`p(u)`.
        A sampler that begins at such draws has to count the rest as if it were observed.
        """
        scaled = [site for site in self.sites if site.scaled]
        trace, total = self._trace(flat, readings) if scaled else {}, jnp.zeros((), flat.dtype)
        with jax.numpy_dtype_promotion("standard"):
            for site in scaled:
                powers = (trace[site.name]["scale"] - 1) * site.density(trace, flat)
                total += jnp.sum(powers).astype(flat.dtype)
        return total

    def log_prior(
        self, flat: Float[Array, " P"], prior: Prior, readings: Readings
    ) -> Float[Array, ""]:
        """Compute the log density of the model's prior draws, in nats, Jacobian included."""
        return jnp.sum(self.log_prior_terms(flat, prior, readings))

    def log_scaled_prior(
        self, flat: Float[Array, " P"], prior: Prior, readings: Readings
    ) -> Float[Array, ""]:
        """Compute the log prior density in nats with what scaled priors add."""
        return self.log_prior(flat, prior, readings) + self.log_powers(flat, readings)

    def log_prior_terms(
        self, flat: Float[Array, " P"], prior: Prior, readings: Readings
    ) -> Float[Array, " P"]:
        """Split the log prior density that draws follow; a site's terms sum to its density."""
        from numpyro import distributions as dist

        terms = dist.Normal(prior.loc, prior.scale).log_prob(flat)
        free = [site for site in self.sites if not site.gaussian]
        trace = self._trace(flat, readings) if free else {}
        with jax.numpy_dtype_promotion("standard"):
            for site in free:
                share = jnp.sum(site.density(trace, flat)) / site.unravel(flat).size
                terms = terms.at[site.slice].set(share.astype(terms.dtype))
        return terms

    def log_density(
        self,
        flat: Float[Array, " P"],
        prior: Prior,
        readings: Readings,
        labels: Int[Any, " n"],
        weights: Float[Any, " n"] | None = None,
    ) -> Float[Array, ""]:
        """Compute the log of prior times likelihood in nats, as a density of the vector."""
        likelihood = self.log_likelihood(flat, readings, labels, weights)
        return self.log_scaled_prior(flat, prior, readings) + likelihood

    def pointwise(
        self,
        flat: Float[Array, " P"],
        readings: Readings,
        labels: Int[Any, " n"],
        weights: Float[Any, " n"] | None = None,
    ) -> tuple[Float[Array, " n"], Float[Array, "n K"]]:
        """Compute each label's weighted log likelihood in nats, and the options' probabilities."""
        from cordial_ppl.channels.ordinal import without_masks

        label = self._trace(flat, readings, labels)[LABEL_SITE]
        return _weigh(_score(label, labels), weights), without_masks(label["fn"]).probs

    def probs(self, flat: Float[Array, " P"], readings: Readings) -> Float[Array, "n K"]:
        """Compute the probabilities of the options for each text."""
        from cordial_ppl.channels.ordinal import without_masks

        return without_masks(self._trace(flat, readings)[LABEL_SITE]["fn"]).probs

    def sample_prior(
        self, key: jax.Array, prior: Prior, readings: Readings, draws: int
    ) -> Float[Array, "S P"]:
        """Draw unconstrained vectors from the prior."""
        loc, scale = jnp.asarray(prior.loc), jnp.asarray(prior.scale)
        normal_key, model_key = jax.random.split(key)
        noise = jax.random.normal(normal_key, (draws, self.size), loc.dtype)
        flat = loc[None] + scale[None] * noise
        if self.gaussian:
            return flat
        from cordial_ppl.inference.tracing import sample_sites

        run = jax.vmap(lambda k, u: sample_sites(self.channel, self.sites, k, readings, u))
        return run(jax.random.split(model_key, draws), flat)

    def check_prior(self, prior: Prior) -> Prior:
        """Return a prior that may replace the default one.

        Raises:
            InputError: it has another length, a scale that is not positive, or it would replace a
                prior that is not a fixed Gaussian in the unconstrained space.
        """
        loc, scale = (as_numbers(part, "a prior") for part in prior)
        if loc.shape != (self.size,) or scale.shape != (self.size,):
            raise InputError(
                f"a prior for channel {self.channel.name!r} needs {self.size} locations and scales "
                f"({', '.join(self.coordinates)}); got shapes {loc.shape} and {scale.shape}."
            )
        if not (np.isfinite(loc).all() and np.isfinite(scale).all() and (scale > 0).all()):
            raise InputError("prior locations and scales must be finite, and scales positive.")
        for site in self.sites:
            # Moments of draws round otherwise on other processors.
            default = [part[site.slice] for part in self.prior]
            replaced = [part[site.slice] for part in (loc, scale)]
            if not site.gaussian and not all(map(np.allclose, default, replaced)):
                raise InputError(
                    f"the prior of {site.name!r} is not a fixed Gaussian in the unconstrained "
                    "space. Change this prior in the channel file."
                )
        return Prior(loc, scale)

    def _trace(self, flat: Array, readings: Readings, labels: Any = None) -> dict[str, Any]:
        from cordial_ppl.inference.tracing import run_model

        if self.wide:
            kind = jax.dtypes.canonicalize_dtype(float)
            flat, readings = jax.tree.map(lambda leaf: leaf.astype(kind), (flat, readings))
        values = {site.name: site.value(flat) for site in self.sites}
        return run_model(self.channel, readings, labels, values=values)


def _score(label: dict[str, Any], labels: Any) -> Array:
    """Compute the log probability of each label in nats, masked and scaled as the model says."""
    with jax.numpy_dtype_promotion("standard"):
        logs = label["fn"].log_prob(labels)
        return logs if label["scale"] is None else label["scale"] * logs


def _weigh(scores: Array, weights: Any) -> Array:
    """Multiply log probabilities by the weights of their labels."""
    with jax.numpy_dtype_promotion("standard"):
        return scores if weights is None else scores * weights


def build_target(
    channel: Channel, size: int, covariates: tuple[str, ...] = (), readers: int | None = None
) -> Target:
    """Trace a channel once and describe its flat parameter vector.

    Args:
        channel: the channel to describe.
        size: number of options K.
        covariates: names of the per-text covariates that the readings carry.
        readers: number of readers R of each text; None for a channel of one reader.

    Returns:
        The target, cached for these arguments.

    Raises:
        InputError: the model uses a covariate that is not among them.
        ChannelError: the channel is of several readers and none are given; or the model has no or
            several ``label`` sites, a discrete parameter or probabilities of another shape than
            ``[n, K]``, raises an error, cannot be traced because it branches on a sampled value, is
            of a file and not finite, or not normalised, where its prior is centred, or predicts a
            text differently alone and beside others.
    """
    if channel.several and readers is None:
        raise ChannelError(
            f"channel {channel.name!r} models several judges and cannot be a member of a stack. "
            "Use fit_channel with logits of shape [n, R, K]."
        )
    start_jax()
    # Two threads that ask at once must get the same target, or each would compile all programs.
    with BUILDING:
        return _build_target(channel, size, covariates, readers)


@lru_cache(maxsize=256)
def _build_target(
    channel: Channel, size: int, covariates: tuple[str, ...], readers: int | None
) -> Target:
    if is_ours(channel):
        sites, loc, scale = list_sites(SITES[channel.name], size, readers)
    else:
        from cordial_ppl.inference.tracing import describe

        sites, loc, scale = describe(channel, size, covariates, readers)
    # A text with each of the options as its label, and two as of padding.
    labels = np.append(np.arange(size), [-1, -1])
    slopes = np.resize([1.0, 0.0, -0.5, 0.7], len(labels))
    logits = np.outer(slopes, np.arange(size) - (size - 1) / 2)
    extra = dict.fromkeys(covariates, np.resize([3.0, 2.0, 2.5, 4.0, 2.0], len(labels)).tolist())
    readings = make_readings(channel, readers, logits, np.full(size, 1 / size), extra)
    target = Target(channel, sites, Prior(loc, scale), (readings, labels))
    # Those of this package are held to it by tests.
    if not str(getattr(channel.model, "__module__", "")).startswith("cordial_ppl."):
        _check_density(target)
    return target


def check_gradient(target: Target) -> None:
    """Refuse a channel whose density has no finite gradient at the centre of its prior.

    Raises:
        InputError: it has none; the default inference needs none.
    """
    prior = Prior(*map(jnp.asarray, target.prior))
    with on_host(), jax.enable_x64(True):
        density = compiled(jax.value_and_grad(target.log_density), **ONCE)
        value, slope = density(prior.loc, prior, *target.made_up)
    bad = np.flatnonzero(~np.isfinite(slope))
    if np.isfinite(value) and bad.size:
        raise InputError(
            f"the density of channel {target.channel.name!r} is finite at the centre of its "
            f"prior, but its gradient for {target.coordinates[bad[0]]} is not finite. Write 1e6 "
            "for an infinite cut point, use jnp.where to keep 0 out of square roots and "
            "logarithms, or use the default inference, which needs no gradient."
        )


def _check_density(target: Target) -> None:
    """Refuse a channel that nothing can be fitted with, or whose texts depend on one another."""
    from cordial_ppl.channels.faults import DensityTrial
    from cordial_ppl.inference.tracing import explaining

    (readings, labels), size = target.made_up, target.options
    steps = np.random.default_rng(0).normal(size=(2, target.size)) * [[0.0], [1.0]]

    def look(prior: Prior, readings: Readings, labels: Array) -> DensityTrial:
        def alone(flat: Array, row: Array) -> Array:
            cut = partial(jax.lax.dynamic_slice_in_dim, start_index=row, slice_size=1)
            extra = {name: cut(column) for name, column in readings.covariates.items()}
            return target.probs(flat, Readings(cut(readings.logits), readings.histogram, extra))[0]

        points = prior.loc[None] + prior.scale[None] * steps.astype(prior.loc.dtype)
        rows, each = jnp.arange(len(labels)), jax.vmap(alone, (None, 0))
        beside = jax.vmap(lambda flat: target.pointwise(flat, readings, labels)[1])(points)
        density = target.log_density(points[0], prior, readings, labels)
        seen = target._trace(points[0], readings, labels)[LABEL_SITE]["value"]
        extra = {name: jnp.flip(column, 0) for name, column in readings.covariates.items()}
        others = Readings(jnp.flip(readings.logits, 0) - readings.logits, readings.histogram, extra)
        tries = (readings, None), (others, None), (readings, labels)
        traces = [target._trace(points[1], texts, observed) for texts, observed in tries]
        with jax.numpy_dtype_promotion("standard"):
            terms = [[jnp.sum(s.density(t, points[1])) for s in target.sites] for t in traces]
            priors = jnp.array(terms)
        return DensityTrial(density, priors, seen, beside, jax.vmap(each, (0, None))(points, rows))

    arrays = Prior(*target.prior), readings, labels
    with on_host(), jax.enable_x64(True), explaining(target.channel, size):
        single = jax.tree.map(lambda leaf: np.asarray(leaf, np.float32), arrays[:2])
        try:
            jax.eval_shape(look, *single, labels)
        except TypeError:
            target.wide = True
            jax.eval_shape(look, *single, labels)
        results = compiled(look, **ONCE)(*jax.tree.map(jnp.asarray, arrays))
    trial = DensityTrial(*map(np.asarray, results))
    if fault := trial.find_fault(target.channel, [site.name for site in target.sites]):
        raise ChannelError(fault)
