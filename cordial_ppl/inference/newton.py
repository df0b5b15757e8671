r"""Damped Newton minimisation of a smooth function of a few dozen variables.

With the Hessian `H = V diag(c) V'` and the gradient `g`, every step searches the curve
`p(mu) = -V diag(1 / (|c| + mu)) V' g`: `mu = 0` is Newton's step, a large `mu` a short step down
the slope, and the absolute values turn away from saddles (Levenberg 1944; Nocedal and Wright,
2nd ed., Section 3.4; Dauphin et al. 2014).  Values are cheap beside Hessians, so a whole ladder of
`mu` is tried at once and hardly a Hessian is computed for a point that is then rejected.  The loop
is data: nothing raises inside `jit`, and :func:`minimise` can be batched with `vmap`.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

RUNGS, RATIO, FIRST, LEAST = 8, 4.0, 0.1, 1e-3
MAX_STEPS, MAX_LENGTH = 100, 10.0
EXACTLY = 0.6
"""Power of the precision: how short Newton's step is at the end."""


class Minimum(NamedTuple):
    """Where a minimisation ended.

    Attributes:
        x: the point, shape `[P]`.
        value: the function there; infinite if the function was not finite at the start.
        gradient_norm: largest absolute gradient component there.
        hessian: second derivatives there, shape `[P, P]`.
        steps: points whose Hessian was computed, the start and rejected ones included.
        converged: whether this is a minimum to the precision of the dtype.
    """

    x: Float[Array, " P"]
    value: Float[Array, ""]
    gradient_norm: Float[Array, ""]
    hessian: Float[Array, "P P"]
    steps: Int[Array, ""]
    converged: Bool[Array, ""]


class _State(NamedTuple):
    x: Array
    value: Array
    gradient: Array
    hessian: Array
    curvature: Array
    axes: Array
    distance: Array
    decrement: Array
    trials: Array
    damping: Array
    steps: Array


def minimise(
    fun: Callable[[Float[Array, " P"]], Float[Array, ""]],
    start: Float[Array, " P"],
    *,
    max_steps: int = MAX_STEPS,
    max_length: float = MAX_LENGTH,
) -> Minimum:
    """Minimise a twice differentiable function by damped Newton steps.

    It ends where the Hessian is positive definite and Newton's step is shorter than about 1e-10
    (float64) of the point's size, or where the gradient is rounding noise.

    Args:
        fun: function of a vector, to scalars.
        start: where to begin, shape `[P]`; the function must be finite there.
        max_steps: evaluations of the function, its gradient and its Hessian at most.
        max_length: longest step in the Euclidean norm, so that no step leaves the region where the
            function can be evaluated.

    Returns:
        The lowest point seen.  `converged` is false if the steps ran out first, at a saddle, and
        where the function is not finite.
    """
    last = jax.lax.while_loop(
        lambda state: _going(state, max_steps),
        lambda state: _step(fun, state, max_length),
        _begin(start),
    )
    return _end(last)


def minimise_pool[Data](
    fun: Callable[[Float[Array, " P"], Data], Float[Array, ""]],
    starts: Float[Array, "N P"],
    data: Data,
    width: int,
    *,
    group: int = 1,
    tolerance: float | Float[Array, ""] = 0.01,
    max_steps: int = MAX_STEPS,
    max_length: float = MAX_LENGTH,
) -> Minimum:
    """Minimise many functions of one form, some of them at a time, as `minimise` would each.

    Batched by `vmap`, a loop runs until the slowest search is done, and all others idle.  Here
    every round takes a step in `width` searches that are not done yet, whichever these are.

    Args:
        fun: function of a vector and of what makes the functions differ.
        starts: where to begin, shape `[N, P]`.
        data: what makes them differ: arrays whose first axis counts the functions.
        width: how many are worked on at a time.
        group: how many in a row are searches for one minimum from several starts: all go on until
            Newton's step leads down by less than the tolerance, and only the lowest to its end.
        tolerance: difference of values that does not matter between the searches of a group; by
            default that of log densities, in nats.
        max_steps: evaluations of each function, its gradient and its Hessian at most.
        max_length: longest step in the Euclidean norm.

    Returns:
        The lowest point seen of each, every array with one more axis in front.
    """
    count = starts.shape[0]
    width = min(width, count)

    def active(states: _State) -> Array:
        unfinished = _going(states, max_steps)
        far = (unfinished & ~(states.decrement <= tolerance)).reshape(-1, group)
        lowest = jnp.argmin(states.value.reshape(-1, group), axis=1)
        chosen = jnp.arange(group)[None] == lowest[:, None]
        return (far | (~jnp.any(far, axis=1, keepdims=True) & chosen)).reshape(-1) & unfinished

    def going(states: _State) -> Array:
        return jnp.any(active(states))

    def round_of_steps(states: _State) -> _State:
        # What is beyond the last one that is not done is out of range, and dropped again.
        index = jnp.nonzero(active(states), size=width, fill_value=count)[0]
        chosen, own = (
            jax.tree.map(lambda leaf: leaf.at[index].get(mode="clip"), tree)
            for tree in (states, data)
        )
        moved = jax.vmap(lambda state, d: _step(lambda x: fun(x, d), state, max_length))(
            chosen, own
        )
        return jax.tree.map(lambda leaf, new: leaf.at[index].set(new, mode="drop"), states, moved)

    return jax.vmap(_end)(jax.lax.while_loop(going, round_of_steps, jax.vmap(_begin)(starts)))


def _begin(start: Array) -> _State:
    """Every trial of the first step is the start: the loop holds the only copy of the function."""
    dtype = start.dtype
    identity = jnp.eye(start.shape[0], dtype=dtype)
    infinite = jnp.asarray(jnp.inf, dtype)
    return _State(
        x=start,
        value=infinite,
        gradient=jnp.zeros_like(start),
        hessian=identity,
        curvature=jnp.ones_like(start),
        axes=identity,
        distance=infinite,
        decrement=infinite,
        trials=jnp.tile(start[None], (RUNGS, 1)),
        damping=jnp.asarray(FIRST, dtype),
        steps=jnp.zeros((), jnp.int32),
    )


def _going(state: _State, max_steps: int) -> Array:
    """Whether to go on; for one state, or for a batch of them."""
    stuck = state.damping > 1.0 / jnp.finfo(state.x.dtype).eps
    return (state.steps == 0) | (~_flat(state) & ~stuck & (state.steps < max_steps))


def _flat(state: _State) -> Array:
    eps = jnp.finfo(state.x.dtype).eps
    slope = jnp.max(jnp.abs(state.gradient), axis=-1)
    near = state.distance <= eps**EXACTLY * (1.0 + jnp.max(jnp.abs(state.x), axis=-1))
    return near | (slope <= 64.0 * eps * (1.0 + jnp.abs(state.value)))


def _step(fun: Callable[[Array], Array], state: _State, max_length: float) -> _State:
    """Take the best of the trials, and lay out the next."""
    dtype, size = state.x.dtype, state.x.shape[0]
    eps = jnp.finfo(dtype).eps
    ladder = jnp.asarray([0.0, *(RATIO**rung for rung in range(RUNGS - 1))], dtype)

    def noise(value: Array) -> Array:
        # Sums of losses cancel: their rounding is some hundred times that of the value alone.
        return eps**0.8 * (1.0 + jnp.abs(value))

    values = jax.vmap(fun)(state.trials)
    values = jnp.where(jnp.isfinite(values), values, jnp.inf)
    least = jnp.min(values)
    # Among equals the least damped wins: near the end values are noise, and Newton is right.
    rung = jnp.argmax(values <= least + noise(least))
    x = state.trials[rung]
    (gradient, value), hessian = _derivatives(fun, x, jnp.eye(size, dtype=dtype))
    curvature, axes = jnp.linalg.eigh(hessian)
    distance, decrement = _distance(gradient, curvature, axes)
    # At the end of the road changes of the value are rounding noise: the distance decides.
    same = jnp.abs(value - state.value) <= noise(least)
    accept = jnp.where(same, distance < state.distance, value < state.value)
    accept &= jnp.isfinite(value) & jnp.all(jnp.isfinite(gradient))
    accept &= jnp.all(jnp.isfinite(hessian))
    found = (x, value, gradient, hessian, curvature, axes, distance, decrement)
    x, value, gradient, hessian, curvature, axes, distance, decrement = (
        jnp.where(accept, new, old) for new, old in zip(found, state[:8], strict=True)
    )
    # The next ladder is centred on the rung that did best, or starts where this one ended.
    factor = jnp.where(rung > 0, ladder[rung] / RATIO**3, 1.0 / RATIO)
    factor = jnp.where(state.steps > 0, jnp.where(accept, factor, ladder[-1]), 1.0)
    damping = jnp.maximum(state.damping * factor, LEAST)
    bend = jnp.abs(curvature)[None] + (damping * ladder)[:, None]
    along = -_turned(gradient, axes)[None] / jnp.maximum(bend, eps)
    # Sums written out are faster than products of small matrices in a batch.
    moves = jnp.sum(along[:, None, :] * axes[None], axis=-1)
    length = jnp.linalg.norm(moves, axis=1, keepdims=True)
    trials = x[None] + moves * jnp.minimum(1.0, max_length / jnp.maximum(length, eps))
    return _State(
        x,
        value,
        gradient,
        hessian,
        curvature,
        axes,
        distance,
        decrement,
        trials,
        damping,
        state.steps + 1,
    )


def _end(last: _State) -> Minimum:
    finite = jnp.isfinite(last.value)
    norm = jnp.where(finite, jnp.max(jnp.abs(last.gradient)), jnp.inf)
    converged = finite & _flat(last) & jnp.isfinite(last.distance)
    return Minimum(last.x, last.value, norm, last.hessian, last.steps, converged)


def _distance(gradient: Array, curvature: Array, axes: Array) -> tuple[Array, Array]:
    """Length of Newton's step and how far down it leads; infinite where there is no minimum."""
    eps = jnp.finfo(gradient.dtype).eps
    slope = _turned(gradient, axes)
    step = slope / jnp.maximum(jnp.abs(curvature), eps)
    definite = curvature[0] >= -64.0 * eps * jnp.abs(curvature[-1])
    distance, decrement = jnp.linalg.norm(step), 0.5 * jnp.sum(slope * step)
    return jnp.where(definite, distance, jnp.inf), jnp.where(definite, decrement, jnp.inf)


def _turned(gradient: Array, axes: Array) -> Array:
    """The gradient along the axes."""
    return jnp.sum(axes * gradient[:, None], axis=0)


def _derivatives(fun: Callable, x: Array, basis: Array) -> tuple[tuple[Array, Array], Array]:
    def gradient(point: Array) -> tuple[Array, Array]:
        value, slope = jax.value_and_grad(fun)(point)
        return slope, value

    # The gradient comes out of the forward pass over it, so one sweep gives all three.
    (slope, value), push = jax.linearize(gradient, x)
    hessian = jax.vmap(lambda tangent: push(tangent)[0])(basis)
    return (slope, value), hessian
