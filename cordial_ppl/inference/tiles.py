"""Tiles: the rows of texts that a compiled program computes at a time."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from cordial_ppl.data.labelled import TILE, Data
from cordial_ppl.data.readings import Readings

WIDE = 512
"""Rows that an accelerator computes at a time, at most."""

_wide: ContextVar[bool] = ContextVar("wide", default=False)


@contextmanager
def wide_tiles(wide: bool = True) -> Iterator[None]:
    """Take tiles that are wide, as an accelerator wants them: what is traced here keeps them."""
    token = _wide.set(wide)
    try:
        yield
    finally:
        _wide.reset(token)


def tile_of(rows: int, tile: int = TILE) -> int:
    """Return the rows computed at a time: at most a tile, or more on an accelerator."""
    return min(WIDE, rows) if _wide.get() else math.gcd(tile, rows)


def take_tile(
    data: Data, index: Array, tile: int = TILE
) -> tuple[Readings, Int[Array, " tile"], Float[Array, " tile"]]:
    """Cut out one tile of the texts with their labels and weights."""
    tile = tile_of(data.labels.shape[-1], tile)

    def cut(values: Any) -> Array:
        values = jnp.asarray(values)
        return jax.lax.dynamic_slice_in_dim(values, index * tile, tile, values.ndim - 1)

    logits = jnp.moveaxis(cut(data.logits), -1, 0)
    covariates = {name: cut(column) for name, column in data.covariates.items()}
    return Readings(logits, data.histogram, covariates), cut(data.labels), cut(data.weights)
