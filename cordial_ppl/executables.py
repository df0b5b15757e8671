"""Compiled programs on disk, so that the next process need not compile them again.

A file holds one program, under the digest of everything that it was compiled from.  They are kept
in the user's cache directory (`cache_directory`), which must be trusted, as JAX's own must: to load
a program is to run code.  Where the user has set a cache of JAX's (``JAX_COMPILATION_CACHE_DIR``),
that one is used.  JAX's settings are only read.
"""

import hashlib
import os
import platform
import sys
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax

VARIABLE = "CORDIAL_CACHE_DIR"
"""Environment variable that names another folder; empty, nothing is kept."""

LARGEST = 1 << 28
"""Bytes of all programs together, of which one takes about 50,000."""

SUFFIX = ".xla"


def cache_directory() -> Path | None:
    """Find the folder for compiled programs, by the customs of the system.

    Returns:
        ``$CORDIAL_CACHE_DIR``; or ``$XDG_CACHE_HOME/cordial``; or below the home folder
        ``Library/Caches/cordial`` (macOS), ``AppData/Local/cordial/Cache`` (Windows) or
        ``.cache/cordial``; None where the first is empty, and without a home folder.
    """
    given, custom = os.environ.get(VARIABLE), os.environ.get("XDG_CACHE_HOME", "")
    if given is not None:
        return Path(given) if given else None
    if os.path.isabs(custom):
        return Path(custom, "cordial")
    places = {"darwin": "Library/Caches/cordial", "win32": "AppData/Local/cordial/Cache"}
    with suppress(RuntimeError):
        return Path.home() / places.get(sys.platform, ".cache/cordial")
    return None


def find(
    lowered: Any, arguments: Sequence[Any], options: Mapping[str, bool | int | str]
) -> Path | None:
    """Find the file of a program, whether or not there is one yet.

    Args:
        lowered: the program before XLA, ``jax.stages.Lowered``.
        arguments: what it is called with, arrays and numbers.
        options: what XLA is told.

    Returns:
        The path; None where programs are not kept, or the arguments are on another device.
    """
    theirs = jax.config.jax_compilation_cache_dir or not jax.config.jax_enable_compilation_cache
    folder, device = None if theirs else cache_directory(), _device()
    placed = [leaf.devices() for leaf in arguments if isinstance(leaf, jax.Array)]
    if folder is None or any(devices != {device} for devices in placed):
        return None
    stated = [lowered.as_text(), sorted(options.items()), device.id, _machine(device)]
    return folder / (hashlib.sha256(repr(stated).encode()).hexdigest() + SUFFIX)


def load(path: Path, lowered: Any) -> Any:
    """Load a program; None where there is no file, or none that can be read."""
    from jax.experimental.serialize_executable import deserialize_and_load

    # Whatever is wrong with the file, the program can be compiled.
    with suppress(Exception):
        data, device = zlib.decompress(path.read_bytes()), _device()
        os.utime(path)
        trees = lowered.in_tree, lowered.out_tree
        return deserialize_and_load(data, *trees, device.client, [device])
    return None


def keep(path: Path, program: Any) -> None:
    """Write a program, whole or not at all, and delete those used longest ago beyond `LARGEST`."""
    from jax.experimental.serialize_executable import serialize

    # A folder that cannot be written to, a full disk, a program that cannot be written.
    with suppress(OSError, ValueError, NotImplementedError, jax.errors.JaxRuntimeError):
        data = zlib.compress(serialize(program)[0], 1)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(SUFFIX, dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
            raise
        files = sorted((file.stat().st_mtime, file) for file in path.parent.glob(f"*{SUFFIX}"))
        total = 0
        for _, file in reversed(files):
            total += file.stat().st_size
            if total > LARGEST:
                file.unlink(missing_ok=True)


def _device() -> Any:
    """The device that programs run on."""
    device = jax.config.jax_default_device
    return device if isinstance(device, jax.Device) else jax.devices(device)[0]


@cache
def _machine(device: Any) -> tuple[str, ...]:
    """What a program depends on besides its text: versions, flags and the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = {line for line in lines if line.startswith(("flags", "Features", "model name"))}
    except OSError:
        processor = {platform.processor()}
    return (
        *(version("jax"), version("jaxlib"), os.environ.get("XLA_FLAGS", "")),
        *(device.platform, device.device_kind, device.client.platform_version),
        *(platform.system(), platform.machine(), *sorted(processor)),
    )
