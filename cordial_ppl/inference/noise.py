"""Random numbers, made to be cheap to compile and to draw in bulk."""

from math import prod

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def normal_and_uniform(
    key: jax.Array, normals: tuple[int, ...], uniforms: tuple[int, ...], dtype: jnp.dtype
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Draw standard normal numbers, and uniform ones between 0 and 1, from steps of 2^-16.

    Proposals and their acceptance need no finer ones, and bits are what they cost.

    Args:
        key: random key.
        normals: shape of the normal numbers.
        uniforms: shape of the uniform numbers, which are neither 0 nor 1.
        dtype: type of both.
    """
    split, count = prod(normals), prod(normals) + prod(uniforms)
    # Asked for 16 bits a number, JAX would draw twice as many and drop half.
    pairs = jax.random.bits(key, (-(-count // 2),), jnp.uint32)
    bits = jax.lax.bitcast_convert_type(pairs, jnp.uint16).reshape(-1)
    uniform = (bits.astype(jnp.float32) + 0.5) * 2.0**-16
    # One long row, whatever the shape: it is computed eight at a time.
    normal = _once(2.0**0.5 * jax.lax.erf_inv(2 * uniform[:split] - 1))
    rest = uniform[split:count].reshape(uniforms)
    return normal.reshape(normals).astype(dtype), rest.astype(dtype)


def standard_normal(
    key: jax.Array, shape: tuple[int, ...], dtype: jnp.dtype
) -> Float[Array, "..."]:
    """Draw standard normal numbers in single precision, whatever the type they are returned in.

    Args:
        key: random key.
        shape: shape of the result.
        dtype: type of the result.
    """
    return _once(jax.random.normal(key, shape, jnp.float32)).astype(dtype)


def _once(numbers: Array) -> Array:
    # The compiler would repeat the inverse error function in every place that uses a number.
    return jax.lax.optimization_barrier(numbers)
