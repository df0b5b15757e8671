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
from typing import Any, NamedTuple

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
    own = os.environ.get(VARIABLE)
    if own is not None:
        return Path(own) if own else None
    custom = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(custom):
        return Path(custom, "cordial")
    try:
        home = Path.home()
    except RuntimeError:
        return None
    places = {"darwin": "Library/Caches/cordial", "win32": "AppData/Local/cordial/Cache"}
    return home / places.get(sys.platform, ".cache/cordial")


class Executable(NamedTuple):
    """The place of one program on disk.

    Attributes:
        path: its file, whether or not there is one.
        lowered: the program before XLA, ``jax.stages.Lowered``.
        device: what it runs on, a ``jax.Device``.
    """

    path: Path
    lowered: Any
    device: Any

    def load(self) -> Any:
        """Load the program; None where there is no file, or none that can be read."""
        from jax.experimental.serialize_executable import deserialize_and_load

        # Whatever is wrong with the file, the program can be compiled.
        with suppress(Exception):
            data = zlib.decompress(self.path.read_bytes())
            os.utime(self.path)
            trees = self.lowered.in_tree, self.lowered.out_tree
            return deserialize_and_load(data, *trees, self.device.client, [self.device])
        return None

    def keep(self, program: Any) -> None:
        """Write the program, whole or not at all; one for several devices is not kept."""
        from jax.experimental.serialize_executable import serialize

        ends = jax.tree.leaves((program.input_shardings, program.output_shardings))
        if any(end.device_set != {self.device} for end in ends):
            return
        # A folder that cannot be written to, a full disk, a program that cannot be written.
        with suppress(OSError, ValueError, NotImplementedError, jax.errors.JaxRuntimeError):
            data = zlib.compress(serialize(program)[0], 1)
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(SUFFIX, dir=self.path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                os.replace(temporary, self.path)
            except OSError:
                os.unlink(temporary)
                raise
            _make_room(self.path.parent)


def find(
    lowered: Any, arguments: Sequence[Any], options: Mapping[str, bool | int | str]
) -> Executable | None:
    """Find the place of a program on disk.

    Args:
        lowered: the program before XLA, ``jax.stages.Lowered``.
        arguments: what it is called with, arrays and numbers.
        options: what XLA is told.

    Returns:
        The place; None where programs are not kept, or the arguments are on another device.
    """
    theirs = jax.config.jax_compilation_cache_dir or not jax.config.jax_enable_compilation_cache
    folder = None if theirs else cache_directory()
    device = jax.config.jax_default_device
    if not isinstance(device, jax.Device):
        device = jax.devices(device)[0]
    placed = [leaf.devices() for leaf in arguments if isinstance(leaf, jax.Array)]
    if folder is None or any(own != {device} for own in placed):
        return None
    stated = [lowered.as_text(), sorted(options.items()), device.id, _machine(device)]
    name = hashlib.sha256(repr(stated).encode()).hexdigest() + SUFFIX
    return Executable(folder / name, lowered, device)


def _make_room(folder: Path) -> None:
    """Delete what was used longest ago, until all is within bounds."""
    found = sorted(folder.glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_mtime, reverse=True)
    total = 0
    for path in found:
        total += path.stat().st_size
        if total > LARGEST:
            path.unlink(missing_ok=True)


@cache
def _machine(device: Any) -> tuple[str, ...]:
    """What a program depends on besides its text: versions, flags and the processor."""
    try:
        with open("/proc/cpuinfo") as file:
            lines = file.read().splitlines()
        own = sorted(
            {line for line in lines if line.startswith(("flags", "Features", "model name"))}
        )
    except OSError:
        own = [platform.processor()]
    return (
        *(version("jax"), version("jaxlib"), os.environ.get("XLA_FLAGS", "")),
        *(device.platform, device.device_kind, device.client.platform_version),
        *(platform.system(), platform.machine(), *own),
    )
