r"""Penalised softmax regression: a strictly convex problem, solved by Newton's method.

With many features a factorisation of the Hessian by Cholesky takes a fraction of the time of its
eigenvalues, and convexity asks for no more: every Newton step points downhill, and along it the
scores are linear, so that a ladder of step lengths costs little more than one.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Float, Int

from cordial_ppl.arrays import AnyArray

MAX_STEPS = 200
LENGTHS = (1.0, 4.0, 2.0, 0.5, 0.25, 2.0**-4, 2.0**-7, 2.0**-12)
"""Step lengths that are tried together; the first is taken where values are rounding noise."""


class _State(NamedTuple):
    x: Array
    value: Array
    distance: Array
    steps: Array


def fit_softmax(
    features: Float[AnyArray, "n F"],
    labels: Int[AnyArray, " n"],
    penalty: Float[AnyArray, "K F"],
    centre: Float[AnyArray, "K F"],
) -> Float[Array, "K F"]:
    r"""Fit `softmax(A x)` by penalised maximum likelihood.

    .. math:: \min_A\; \mathrm{mean}_i\,[-\log \mathrm{softmax}(A x_i)_{z_i}]
        + \tfrac12 \sum_{kf} c_{kf} (A_{kf} - A^0_{kf})^2

    Args:
        features: what the scores are linear in, shape ``[n, F]``.
        labels: classes ``[n]``, 0..K-1; -1 marks rows to ignore.
        penalty: c > 0, shape ``[K, F]``.
        centre: A^0, which is returned if there are no labels, shape ``[K, F]``.

    Returns:
        The coefficients A, shape ``[K, F]``.
    """
    features, penalty, centre = (jnp.asarray(a) for a in (features, penalty, centre))
    dtype, (size, width) = features.dtype, penalty.shape
    rows, count = features.shape[0], penalty.size
    eps = jnp.finfo(dtype).eps
    share = (jnp.asarray(labels) >= 0).astype(dtype)
    share = share / jnp.maximum(jnp.sum(share), 1.0)
    chosen = jax.nn.one_hot(labels, size, dtype=dtype)
    products = (features[:, :, None] * features[:, None, :]).reshape(rows, width * width)
    lengths = jnp.asarray(LENGTHS, dtype)
    diagonal = jnp.arange(count)

    def value_of(scores: Array, x: Array) -> Array:
        losses = jax.nn.logsumexp(scores, axis=1) - jnp.sum(chosen * scores, axis=1)
        return jnp.sum(share * losses) + 0.5 * jnp.sum(penalty * (x - centre) ** 2)

    def newton(scores: Array, x: Array) -> tuple[Array, Array]:
        """Newton's step, and the largest component of the gradient."""
        probs = jax.nn.softmax(scores, axis=1)
        gradient = (share[:, None] * (probs - chosen)).T @ features + penalty * (x - centre)
        spread = jnp.eye(size, dtype=dtype)[None] * probs[:, :, None]
        spread = share[:, None, None] * (spread - probs[:, :, None] * probs[:, None, :])
        hessian = (spread.reshape(rows, size * size).T @ products).reshape(size, size, width, width)
        hessian = hessian.transpose(0, 2, 1, 3).reshape(count, count)
        slack = penalty.reshape(count) + 8.0 * eps * jnp.max(jnp.abs(hessian))
        factor = jnp.linalg.cholesky(hessian.at[diagonal, diagonal].add(slack))
        return cho_solve((factor, True), -gradient.reshape(count)).reshape(x.shape), gradient

    def going(state: _State) -> Array:
        near = state.distance <= eps**0.6 * (1.0 + jnp.max(jnp.abs(state.x)))
        return ~near & (state.steps < MAX_STEPS)

    def step(state: _State) -> _State:
        scores = features @ state.x.T
        move, gradient = newton(scores, state.x)
        change = features @ move.T
        values = jax.vmap(lambda t: value_of(scores + t * change, state.x + t * move))(lengths)
        values = jnp.where(jnp.isfinite(values), values, jnp.inf)
        least = jnp.min(values)
        noise = eps**0.8 * (1.0 + jnp.abs(state.value))
        best = jnp.argmax(values <= least + noise)
        accept = values[best] <= state.value + noise
        x = jnp.where(accept, state.x + lengths[best] * move, state.x)
        value = jnp.where(accept, values[best], state.value)
        # Where no length goes down, or the slope is rounding noise, this is the end.
        flat = jnp.max(jnp.abs(gradient)) <= 64.0 * eps * (1.0 + jnp.abs(state.value))
        distance = jnp.where(accept & ~flat, jnp.max(jnp.abs(move)), 0.0)
        return _State(x, value, distance, state.steps + 1)

    # At even odds the curvature is at its largest, so that Newton's first step is a short one.
    origin = jnp.zeros_like(centre)
    first = _State(
        origin,
        value_of(jnp.zeros((rows, size), dtype), origin),
        jnp.asarray(jnp.inf, dtype),
        jnp.zeros((), jnp.int32),
    )
    return jax.lax.while_loop(going, step, first).x
