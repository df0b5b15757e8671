"""Mapping one program over many fits: in chunks that suit the memory, on every device there is."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from cordial_ppl.compilation import compiled

CACHE = 1 << 21
"""Bytes of intermediate results that one core of a CPU works on at a time."""
SHARE = 0.25
"""Share of an accelerator's memory that a chunk may take: several programs run side by side."""


def at_once(bytes_each: float, share: float = 1.0) -> int:
    """Number of fits to run together on a device, from the size of one's intermediate results.

    Args:
        bytes_each: bytes that one fit works on.
        share: share of the usual memory to take.

    Returns:
        At least 1.
    """
    device = jax.devices()[0]
    figures = device.memory_stats() if device.platform != "cpu" else None
    limit = SHARE * figures["bytes_limit"] if figures else CACHE
    return max(1, int(share * limit // max(bytes_each, 1.0)))


def mapped(function: Callable[..., Any], size: int) -> Callable[..., Any]:
    """Compile a function of many fits to take them ``size`` at a time, on every device there is.

    Args:
        function: a pure function of what all fits share and of what is each one's own, with the
            fits on the first axis of both what it takes and what it returns.
        size: how many fits run together on a device.

    Returns:
        The function for any number of fits.
    """

    def run(shared: Any, own: Any) -> Any:
        return jax.lax.map(partial(function, shared), own)

    devices = jax.devices()
    program = compiled(run)
    if len(devices) > 1:
        mesh = Mesh(np.array(devices), ("fits",))
        fits, everywhere = PartitionSpec("fits"), PartitionSpec()
        specs = {"in_specs": (everywhere, fits), "out_specs": fits, "check_vma": False}
        program = compiled(jax.shard_map(run, mesh=mesh, **specs))

    def call(shared: Any, own: Any) -> Any:
        count = len(jax.tree.leaves(own)[0])
        # Chunks of one size are one program; what is missing in the last is filled up.
        share = -(-count // len(devices))
        width = -(-share // -(-share // size))
        rows = -(-count // (width * len(devices))) * len(devices)
        index = np.minimum(np.arange(rows * width), count - 1).reshape(rows, width)
        found = program(shared, jax.tree.map(lambda leaf: leaf[index], own))
        return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[:count], found)

    return call
