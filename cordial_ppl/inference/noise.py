"""Standard normal numbers, made to be cheap to compile and to draw in bulk."""

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
