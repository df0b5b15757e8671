"""Shapes: the names of the package's arrays, and padding to a few sizes so little is recompiled.

The aliases name what an array is and how it is laid out; functions whose arrays fit none of them
write their own jaxtyping annotation over `AnyArray`. XLA compiles a program once for every shape,
so a number of texts is rounded up to a bucket and the rows that fill it are masked out.
"""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

AnyArray = jax.Array | np.ndarray
"""An array of JAX (also while it is traced) or of NumPy."""

Logits = Float[AnyArray, "n K"]
"""One row a text, one column an option; log-probabilities up to a constant of the row (nats)."""

LogProbabilities = Float[AnyArray, "n K"]
"""One row a text, one column an option; normalised log-probabilities (nats)."""

Probabilities = Float[AnyArray, "n K"]
"""One row a text, one column an option; rows sum to one."""

FLOOR = 1e-4
"""The least probability that a label is charged for: no logarithm is taken of a smaller one."""

Labels = Int[AnyArray, " n"]
"""The option of each text, 0..K-1."""

Mask = Bool[AnyArray, " n"]
"""True for the rows that count, False for padding and for texts without a label."""

Histogram = Float[AnyArray, " K"]
"""The share of each option; sums to one."""

SMALLEST_BUCKET = 8
CHUNK_ROWS = 4096
"""Texts that are predicted at a time: their intermediate results fit the caches."""


def namespace(array: Any) -> Any:
    """The module of an array's functions: ``jax.numpy`` for JAX arrays, also while traced."""
    return jnp if isinstance(array, jax.Array) else np


def bucket(n: int) -> int:
    """Round a number of rows up to the size that it is padded to.

    The sizes are 8, 16, 24, 32, 48, 64, 96, 128, ...: from 16 on the powers of two and 1.5 times
    the powers of two, so that beyond 16 rows at most half as many again are computed in vain.

    Args:
        n: Number of rows, at least 0.

    Returns:
        The smallest size that holds `n` rows.
    """
    size = max(SMALLEST_BUCKET, 1 << max(n - 1, 0).bit_length())
    between = 3 * size // 4
    return between if between > 16 and n <= between else size


def wide_bucket(n: int) -> int:
    """Round a number of rows up to one of few sizes, for work where compiling takes longest.

    The sizes are 24, 128, 512, 2048, ...: a learning curve from 5 to 2,000 labels needs four.

    Args:
        n: Number of rows, at least 0.

    Returns:
        The smallest size that holds `n` rows.
    """
    size = 128
    while size < n:
        size *= 4
    return 24 if n <= 24 else size


def chunks(n: int) -> Iterator[tuple[slice, int]]:
    """Split texts into runs to predict at a time, all of one padded size: one compiled program.

    Args:
        n: Number of texts.

    Yields:
        The rows of a run, and the size to pad them to.
    """
    size = min(bucket(n), CHUNK_ROWS)
    for start in range(0, n, CHUNK_ROWS):
        yield slice(start, min(start + CHUNK_ROWS, n)), size


def repeat_rows(x: AnyArray, size: int) -> np.ndarray:
    """Append copies of the last row: rows that count nothing, but can be computed with.

    What a model does with a text's values (a logarithm, say) may be undefined for a constant.

    Args:
        x: Array [n, ...] with 1 <= n <= `size`.
        size: Number of rows wanted, usually `bucket(n)`.

    Returns:
        Array [size, ...] of the same type.
    """
    rows = np.asarray(x)
    return np.pad(rows, [(0, size - len(rows))] + [(0, 0)] * (rows.ndim - 1), mode="edge")


def pad_rows(x: AnyArray, size: int, fill: float) -> np.ndarray:
    """Append rows of a constant, in NumPy (a padding compiled by XLA would compile for every n).

    Args:
        x: Array [n, ...] with n <= `size`.
        size: Number of rows wanted, usually `bucket(n)`.
        fill: Value of the rows added, cast to the type of `x`.

    Returns:
        Array [size, ...] of the same type.

    Raises:
        ValueError: `x` has more than `size` rows.
    """
    rows = np.asarray(x)
    if len(rows) > size:
        raise ValueError(f"cannot pad {len(rows)} rows to {size}: choose a size of {len(rows)} up.")
    if len(rows) == size:
        return rows
    # NumPy's own `pad` takes longer than what is done with the rows.
    padded = np.full((size, *rows.shape[1:]), fill, rows.dtype)
    padded[: len(rows)] = rows
    return padded
