"""Executables of the package's programs, kept on disk: a second process traces nothing.

JAX's cache is asked with a program, which has to be traced and lowered first.  Here an executable
is known by what its program follows from: sources of the package, versions, arguments, processor.
A file is a digest and what XLA serialises, never a pickle; the folder is that of
`cordial_ppl.runtime.cache`.
"""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from threading import RLock
from typing import Any

import jax
import numpy as np

from cordial_ppl.errors import FileError
from cordial_ppl.runtime.cache import cache_directory
from cordial_ppl.runtime.outputs import replacing
from cordial_ppl.runtime.platform import find_host

ROOMS = "channels", "data", "inference", "runtime", "stack"
"""Rooms of the package whose sources programs follow from."""

LOADED: dict[tuple, Any] = {}
"""What this process has loaded or compiled, to be called; None for what cannot be kept."""

LOCKS: dict[tuple, Any] = {}
"""Of several threads that want a program at once, one finds it."""

logger = logging.getLogger(__name__)


def run_kept(
    name: str, arguments: tuple[Any, ...], lower: Callable[..., Any], options: Mapping[str, Any]
) -> tuple[jax.Array, ...] | None:
    """Run a program whose executable is in this process or on disk, or else compiled and kept.

    Args:
        name: what the program follows from beside the sources of the package and the arguments.
        arguments: of the program, trees of NumPy arrays.
        lower: traces and lowers it; it returns a flat tuple of arrays.
        options: what XLA is told.

    Returns:
        What the program returns; None where executables are not kept.
    """
    leaves, tree = jax.tree.flatten(arguments)
    key = name, tree, tuple((leaf.shape, leaf.dtype) for leaf in leaves), jax.config.jax_enable_x64
    with LOCKS.setdefault(key, RLock()):
        if key not in LOADED:
            try:
                program = _find_program(key, lambda: lower(*arguments), options)
                run = partial(_execute, program, [*map(jax.typeof, leaves)])
                jax.block_until_ready(run(leaves))  # Once, to see that it runs.
            except Exception as error:  # Whatever jaxlib raises: what is traced runs as well.
                run = logger.debug("cannot cache the program %s: %r", name, error)
            LOADED[key] = run
        run = LOADED[key]
    return run and run(leaves)


def _execute(program: Any, types: Sequence[Any], leaves: Sequence[Any]) -> tuple[jax.Array, ...]:
    """Run an executable on arrays of these types."""
    from jaxlib import xla_client  # Not public: a version without it traces programs.

    # `jax.device_put` takes longer.
    put, device = xla_client.batched_device_put, find_host()
    sharding = jax.sharding.SingleDeviceSharding(device)
    arrays = [
        put(kind, sharding, [np.asarray(leaf, kind.dtype)], [device])
        for kind, leaf in zip(types, leaves, strict=True)
    ]
    results = program.execute_sharded(arrays).disassemble_into_single_device_arrays()
    return tuple(part for (part,) in results)


def _find_program(key: tuple, lower: Callable[[], Any], options: Mapping[str, Any]) -> Any:
    """Load an executable, or compile a program and write its executable.

    Past JAX's cache: an executable that was loaded from it is not whole when it is written again.

    Raises:
        LookupError: JAX has no cache, or another folder.
    """
    from jaxlib import xla_client

    folder = cache_directory()
    if folder is None or os.path.realpath(folder) != jax.config.jax_compilation_cache_dir:
        raise LookupError(f"JAX's cache is not in {folder}")
    device, words = find_host(), f"{key} {options} {_digest_sources()}"
    # The processor, as JAX's cache tells one from another.
    words += f"{xla_client.get_topology_for_devices([device]).fingerprint()} "
    flags = {k: v for k, v in jax.config.values.items() if "cache" not in k and "log" not in k}
    words += f"{flags} {os.environ.get('XLA_FLAGS')}"
    name = sha256(words.encode()).digest()
    path = Path(folder, f"{name.hex()}-cache")
    with suppress(OSError):
        digest, content = (whole := path.read_bytes())[: len(name)], whole[len(name) :]
        if digest == sha256(name + content).digest():
            return device.client.deserialize_executable(content, [device])
        logger.debug("%s is incomplete", path)
    settings = xla_client.CompileOptions()
    settings.env_option_overrides = list(options.items())
    program = device.client.compile_and_load(lower().as_text(), [device], settings)
    content = program.serialize()
    with suppress(FileError), replacing(path) as temporary:
        temporary.write_bytes(sha256(name + content).digest() + content)
    return program


@cache
def _digest_sources() -> str:
    """Digest the sources that programs follow from, and name the versions of what runs them."""
    package, digest = Path(__file__).parents[1], sha256()
    for path in sorted(path for room in ROOMS for path in (package / room).rglob("*.py")):
        digest.update(path.read_bytes())
    return " ".join([digest.hexdigest(), *map(version, ("jax", "jaxlib", "numpyro"))])
