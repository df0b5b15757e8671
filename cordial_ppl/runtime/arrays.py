"""Shapes: padding to a few sizes, so that little is compiled again.

XLA compiles a program once for every shape, so a number of texts is rounded up to a bucket and the
rows that fill it are masked out.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

AnyArray = jax.Array | np.ndarray
"""An array of JAX (also while it is traced) or of NumPy."""

FLOOR = 1e-4
"""The least probability that a label is charged for: no logarithm is taken of a smaller one."""

EPS, TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)
"""Rounding of numbers about one, and the least normal number, in double precision."""

CHUNK_ROWS = 4096
"""Texts that users' predictions take at a time: their intermediate results fit the caches."""


def bucket(n: int) -> int:
    """Round a number of rows up to one of the few sizes that programs are compiled for.

    The sizes are 24, 128, 512, 2048, ...: a learning curve from 5 to 2,000 labels needs four.
    """
    size = 128
    while size < n:
        size *= 4
    return 24 if n <= 24 else size


def repeat_rows(x: AnyArray, size: int) -> np.ndarray:
    """Append copies of the last of ``[n, ...]`` rows, up to ``size``.

    What a model does with a text's values (a logarithm, say) may be undefined for a constant.
    """
    return pad_rows(x, size, np.asarray(x)[-1:])


def pad_rows(x: AnyArray, size: int, fill: Any) -> np.ndarray:
    """Append rows of a constant, or of one row, to ``[n, ...]`` rows, up to ``size``.

    Raises:
        ValueError: there are more rows.
    """
    rows = np.asarray(x)
    if len(rows) == size:
        return rows
    # NumPy's `pad` takes longer than what is done with the rows.
    padded = np.empty((size, *rows.shape[1:]), rows.dtype)
    padded[: len(rows)], padded[len(rows) :] = rows, fill
    return padded


def replaced(values: Any, index: Any, new: Any) -> Any:
    """Copy a line of values, some of them replaced, in NumPy or in JAX."""
    if not isinstance(values, np.ndarray):
        return values.at[index].set(new)
    copy = values.copy()
    copy[index] = new
    return copy


def iterate(go_on: Callable[[Any], Any], step: Callable[[Any], Any], carry: Any) -> Any:
    """Take steps as long as a condition holds, in NumPy or within a program of JAX."""
    if isinstance(jax.tree.leaves(carry)[0], jax.Array):
        return jax.lax.while_loop(go_on, step, carry)
    while go_on(carry):
        carry = step(carry)
    return carry


def either(condition: Any, one: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """Return what one of two functions makes; within a program of JAX both are computed."""
    if isinstance(condition, jax.Array):
        return jax.tree.map(partial(jnp.where, condition), one(), other())
    return one() if condition else other()
