"""Standard normal numbers, made to be cheap to compile and to draw in bulk."""

from math import prod

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def standard_normal(
    key: jax.Array, shape: tuple[int, ...], dtype: jnp.dtype
) -> Float[Array, "..."]:
    """Draw standard normal numbers in single precision, whatever the type they are returned in.

    Proposals and acceptance need no more digits.  The barrier keeps the compiler from repeating the
    inverse error function in every place that uses a number.

    Args:
        key: random key.
        shape: shape of the result.
        dtype: type of the result.
    """
    normal = jax.random.normal(key, shape, jnp.float32)
    return jax.lax.optimization_barrier(normal).astype(dtype)


def uniform_and_normal(
    key: jax.Array, shape: tuple[int, ...], dtype: jnp.dtype
) -> tuple[Float[Array, ""], Float[Array, "..."]]:
    """Draw one uniform number and standard normal ones, all in one draw.

    Args:
        key: random key.
        shape: shape of the normal numbers.
        dtype: type of the result.
    """
    normal = standard_normal(key, (prod(shape) + 2,), dtype)
    # Half the sum of two squared normal numbers is exponential: minus the log of a uniform.
    return jnp.exp(-0.5 * jnp.sum(normal[-2:] ** 2)), normal[:-2].reshape(shape)
