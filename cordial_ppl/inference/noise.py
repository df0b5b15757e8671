"""Random numbers from where they are cheap: NumPy's generator on a CPU, a key in a program."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Source = np.random.Generator | jax.Array
"""A generator, which moves on with each use; or a key, which does not."""


def split(source: Source, count: int) -> list[Any]:
    """Independent sources: of a generator itself, over and over; of a key, as many keys."""
    if isinstance(source, np.random.Generator):
        return [source] * count
    return [*jax.random.split(source, count)]


def normal_and_uniform(
    source: Source, normals: tuple[int, ...], uniforms: tuple[int, ...]
) -> tuple[Any, Any]:
    """Draw standard normal numbers, and uniform ones in (0, 1], in single precision.

    Args:
        source: a generator or one key.
        normals: shape of the normal numbers.
        uniforms: shape of the uniform numbers.
    """
    if isinstance(source, np.random.Generator):
        normal = source.standard_normal(normals, np.float32)
        return np.asarray(normal), np.asarray(1 - source.random(uniforms, np.float32))
    first, second = jax.random.split(source)
    uniform = 1 - jax.random.uniform(second, uniforms, jnp.float32)
    return jax.random.normal(first, normals, jnp.float32), uniform
