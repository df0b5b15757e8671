"""JAX's cache of compiled programs, in a folder that only its user can write to."""

import os
import stat
import sys
import warnings
from contextlib import suppress
from pathlib import Path

from cordial_ppl.errors import warn

CHOSEN = "JAX_COMPILATION_CACHE_DIR"
"""JAX's own environment variable."""

VARIABLE = "CORDIAL_CACHE_DIR"
"""Environment variable that names another folder; empty, nothing is cached."""

LARGEST = 1 << 28
"""Bytes of all programs together."""

SETTINGS = {
    "jax_persistent_cache_min_compile_time_secs": 0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}
"""All programs are cached: by default JAX leaves out those that compile within a second."""


def cache_directory() -> Path | None:
    """Return the folder for compiled programs, by the customs of the system.

    Returns:
        ``$CORDIAL_CACHE_DIR``; or ``$XDG_CACHE_HOME/cordial``; or below the home folder
        ``Library/Caches/cordial`` (macOS), ``AppData/Local/cordial/Cache`` (Windows) or
        ``.cache/cordial``; None where the first is empty, and without a home folder.
    """
    chosen, custom = os.environ.get(VARIABLE), os.environ.get("XDG_CACHE_HOME", "")
    if chosen is not None:
        return Path(chosen) if chosen else None
    if os.path.isabs(custom):
        return Path(custom, "cordial")
    places = {"darwin": "Library/Caches/cordial", "win32": "AppData/Local/cordial/Cache"}
    with suppress(RuntimeError):
        path = Path.home() / places.get(sys.platform, ".cache/cordial")
        return path if path.is_absolute() else None
    return None


def cache_programs() -> Path | None:
    """Switch JAX's cache of compiled programs on, for this process and those that it starts.

    Where the user has chosen a cache of JAX's (``JAX_COMPILATION_CACHE_DIR``), that one stays, as
    it is.  To load a program is to run code: a folder that is another user's, or that others can
    write to or replace, is not used, and one warning says so.  Processes may share the folder: one
    that meets a program half written compiles it itself.

    Returns:
        The folder, which is made if need be; None where nothing is cached.
    """
    if chosen := os.environ.get(CHOSEN):
        return Path(chosen)
    if (path := cache_directory()) is None:
        return None
    # Beyond the links that lead there, so that nobody can turn them.
    path = Path(os.path.realpath(path))
    try:
        fault = _find_fault(path)
    except OSError:
        return None
    if fault:
        return warn(
            f"cannot cache compiled programs in {str(path)!r}: {fault}. Set {VARIABLE} to a folder "
            "that only you can write to (chmod 700), inside one that others cannot change."
        )
    _delete_oldest(path)
    for name, value in {CHOSEN.lower(): str(path), **SETTINGS}.items():
        os.environ.setdefault(name.upper(), str(value))
        # Once it is imported, JAX looks at its environment no more.
        if "jax" in sys.modules:
            sys.modules["jax"].config.update(name, value)
    # JAX writes a file where others read it; a checksum tells it from a whole one. A full disk or a
    # folder that can only be read takes no more programs.
    warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache entry")
    return path


def _find_fault(folder: Path) -> str:
    """Make a folder, unless it is there; say how others could change what it holds."""
    user = os.getuid() if hasattr(os, "getuid") else None  # Windows keeps users apart by itself.
    for each in (*reversed(folder.parents), folder):
        if not each.exists():
            each.mkdir(mode=0o700, exist_ok=True)
        status, last = each.stat(), each == folder
        if user is not None and status.st_uid not in ((user,) if last else (user, 0)):
            return f"{str(each)!r} belongs to another user"
        # In a folder such as /tmp, nobody can replace what is another's.
        shared = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if user is not None and shared and (last or not status.st_mode & stat.S_ISVTX):
            return f"others can write to {str(each)!r}"
    return "" if folder.is_dir() else "the path is not a folder"


def _delete_oldest(path: Path) -> None:
    """Delete what a full disk left empty, and the oldest programs beyond `LARGEST`."""
    files, total = [], 0
    for file in path.glob("*-cache"):
        with suppress(FileNotFoundError):  # Another process deletes too.
            files.append((file.stat(), file))
    for status, file in sorted(files, key=lambda entry: -entry[0].st_mtime):
        total += status.st_size
        if total > LARGEST or not status.st_size:
            with suppress(OSError):  # One that can only be read serves as well.
                file.unlink()
