"""Containers: lists, frames, masked arrays and whatever else can be an array, as arrays."""

from typing import Any

import numpy as np


def unmasked(values: Any) -> Any:
    """Put None where a masked array is masked, which NumPy would show what lies below of."""
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.filled(values.astype(object), None)
    return values


def as_numbers(values: Any) -> np.ndarray:
    """Copy numbers of any container into a float64 array; what is masked or None becomes NaN.

    Args:
        values: NumPy, JAX, pandas, polars or lists.

    Returns:
        The numbers, in the same shape.

    Raises:
        ValueError: They are no numbers, complex ones, dates, or rows of different lengths.
    """
    try:
        array = np.asarray(unmasked(values))
        if array.dtype.kind in "cmM":
            raise TypeError(f"they are of type {array.dtype}")
        return np.array(array, np.float64)
    # Whatever a container raises that is asked to be an array, it is none of numbers.
    except Exception as error:
        raise ValueError(str(error) or type(error).__name__) from error
