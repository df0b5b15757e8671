"""One inference problem: a target, its prior and one data set, seen in whitened coordinates.

Whitened coordinates ``w`` are the unconstrained parameters in units of the prior,
``u = loc + scale * w``: there every direction has about the same size, and the paper's priors are
standard normal.  The methods of inference take a problem and return a :class:`Cloud`.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Shaped

from cordial_ppl.inference.family import OneOf, of_target
from cordial_ppl.inference.target import Prior, Target
from cordial_ppl.readings import Readings

PRECISION = jnp.float32
"""Log densities are needed to far less than their Monte Carlo error: half the digits suffice."""
CHUNK_ELEMENTS = 1 << 20
PREDICT_ELEMENTS = 1 << 17
FEW = 8
"""Draws at a time below which a core takes them one by one: a tenth faster, compiled in half."""


class Cloud(NamedTuple):
    """Weighted draws of the unconstrained parameters, and what is known of their quality.

    Attributes:
        draws: unconstrained parameters, shape ``[S, P]``.
        log_weights: log weights in nats, which sum to one on the linear scale, shape ``[S]``.
        khat: Pareto shape of the importance weights behind the draws; NaN where there are none.
        ess: effective sample size of those weights.
        acceptance: share of the last moves that was accepted; NaN where nothing moved.
        gradient_norm: largest component of the whitened gradient at the mode; NaN without a mode.
        repairs: how often the draws were moved and weighed again because they were not good enough.
        fold_khat: worst k-hat of the weights that carry the draws over to the folds; NaN where none
            were carried.
        transitions: of NUTS, figures of the step that led to each draw, each of shape ``[S]``.
    """

    draws: Float[Any, "S P"]
    log_weights: Float[Any, " S"]
    khat: Float[Any, ""]
    ess: Float[Any, ""]
    acceptance: Float[Any, ""]
    gradient_norm: Float[Any, ""]
    repairs: Int[Any, ""]
    fold_khat: Float[Any, ""] = float("nan")
    transitions: Mapping[str, Shaped[Any, " S"]] = {}


class Problem(NamedTuple):
    """A target with everything that its log density depends on.

    Attributes:
        target: the channel's flat log density, or one of a family of them.
        prior: location and scale of the unconstrained parameters.
        readings: the texts that carry labels, padded.
        labels: their options; -1 leaves a row out.
    """

    target: Target | OneOf
    prior: Prior
    readings: Readings
    labels: Int[Any, " n"]

    def colour(self, whitened: Float[Array, "... P"]) -> Float[Array, "... P"]:
        """Unconstrained parameters of whitened ones."""
        shape = (1,) * (whitened.ndim - 1) + (-1,)
        loc, scale = (jnp.reshape(jnp.asarray(p), shape) for p in self.prior)
        return loc + scale * whitened

    def whiten(self, flat: Float[Array, "S P"]) -> Float[Array, "S P"]:
        """Whitened parameters of unconstrained ones."""
        return (flat - jnp.asarray(self.prior.loc)[None]) / jnp.asarray(self.prior.scale)[None]

    def log_prior(self, whitened: Float[Array, " P"]) -> Float[Array, ""]:
        """Log prior density of one point."""
        flat = self.colour(whitened)
        return of_target(self.target, lambda own: own.log_prior(flat, self.prior, self.readings))

    def log_likelihood(self, whitened: Float[Array, " P"]) -> Float[Array, ""]:
        """Log likelihood at one point."""
        flat, texts = self.colour(whitened), self.readings
        return of_target(self.target, lambda own: own.log_likelihood(flat, texts, self.labels))

    def log_density(self, whitened: Float[Array, " P"]) -> Float[Array, ""]:
        """Log of prior times likelihood at one point."""
        prior, likelihood = self._terms(whitened)
        return prior + likelihood

    def evaluate(
        self, whitened: Float[Array, "S P"]
    ) -> tuple[Float[Array, " S"], Float[Array, " S"]]:
        """Log prior and log likelihood of many points, in chunks that fit the caches.

        A density that is not a number counts as zero.
        """
        points = whitened.shape[0]
        chunk = max(8, CHUNK_ELEMENTS // math.prod(self.readings.logits.shape))

        def terms(target: Target) -> tuple[Array, Array]:
            own = self._replace(target=target)
            if points <= chunk:
                return jax.vmap(own._terms)(whitened)
            return jax.lax.map(own._terms, whitened, batch_size=chunk)

        prior, likelihood = of_target(self.target, terms)
        bad = ~(jnp.isfinite(prior) & jnp.isfinite(likelihood))
        return jnp.where(bad, 0.0, prior), jnp.where(bad, -jnp.inf, likelihood)

    def _terms(self, whitened: Float[Array, " P"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
        # A model with constants of higher precision must not change the type of what it is given.
        kind = whitened.dtype
        return self.log_prior(whitened).astype(kind), self.log_likelihood(whitened).astype(kind)


def in_precision[T](tree: T) -> T:
    """A pytree with its floating-point arrays in the precision of the particles."""

    def cast(leaf: Any) -> Any:
        floating = jnp.issubdtype(jnp.result_type(leaf), jnp.floating)
        return jnp.asarray(leaf, PRECISION) if floating else leaf

    return jax.tree.map(cast, tree)


def problem_in_precision(problem: Problem) -> Problem:
    """A problem in the precision of the particles."""
    prior, readings = in_precision((problem.prior, problem.readings))
    return problem._replace(prior=prior, readings=readings)


def predict(target: Target, cloud: Cloud, readings: Readings) -> Float[Array, "n K"]:
    r"""Posterior predictive distribution of each text.

    .. math:: \hat p(z \mid x) = \sum_s w_s\, \hat p(z \mid x, \phi_s)

    Args:
        target: the channel.
        cloud: its posterior.
        readings: texts to predict.

    Returns:
        Probabilities, shape ``[n, K]``.
    """
    weights = jnp.exp(cloud.log_weights)
    rows, *_, size = readings.logits.shape
    block = max(1, min(weights.shape[0], PREDICT_ELEMENTS // math.prod(readings.logits.shape)))
    blocks = -(-weights.shape[0] // block)
    if block < FEW and jax.default_backend() == "cpu":
        return _predict_one_by_one(target, cloud.draws, weights, readings)
    short = blocks * block - weights.shape[0]
    draws = jnp.pad(cloud.draws, ((0, short), (0, 0)), mode="edge").reshape(blocks, block, -1)
    weights = jnp.pad(weights, (0, short)).reshape(blocks, block)

    def add(total: Array, part: tuple[Array, Array]) -> tuple[Array, None]:
        flat, weight = part
        probs = jax.vmap(lambda u: target.probs(u, readings))(flat).astype(weights.dtype)
        # An option at a time: channels compute them one by one, and nothing need be put together.
        return total + jnp.stack([weight @ probs[..., option] for option in range(size)]), None

    start = jnp.zeros((size, rows), weights.dtype)
    return jax.lax.scan(add, start, (draws, weights))[0].T


def _predict_one_by_one(
    target: Target, draws: Float[Any, "S P"], weights: Float[Array, " S"], readings: Readings
) -> Float[Array, "n K"]:
    """The same a draw at a time, where the texts alone are enough to fill a loop."""
    rows, *_, size = readings.logits.shape

    def add(totals: list[Array], part: tuple[Array, Array]) -> tuple[list[Array], None]:
        flat, weight = part
        probs = target.probs(flat, readings).astype(weights.dtype)
        return [total + weight * probs[:, k] for k, total in enumerate(totals)], None

    start = [jnp.zeros(rows, weights.dtype)] * size
    return jnp.stack(jax.lax.scan(add, start, (draws, weights))[0], axis=1)
