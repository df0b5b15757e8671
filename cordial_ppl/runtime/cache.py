"""JAX's cache of compiled programs, in a folder that only its user can write to."""

import os
import stat
import sys
import warnings
from contextlib import suppress
from pathlib import Path

from cordial_ppl.errors import InputError

VARIABLE = "CORDIAL_CACHE_DIR"
"""Environment variable that names another folder; empty, nothing is cached."""

LARGEST = 1 << 28
"""Bytes of all programs together; one takes 20,000 to 100,000."""

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
        return Path.home() / places.get(sys.platform, ".cache/cordial")
    return None


def cache_programs(folder: str | os.PathLike | None = None) -> Path | None:
    """Switch JAX's cache of compiled programs on, for this process and those that it starts.

    Where the user has chosen a cache of JAX's (``JAX_COMPILATION_CACHE_DIR``), that one stays.
    To load a program is to run code: a folder that others can write to is not used.  Processes may
    share the folder: one that meets a program half written compiles it itself.

    Args:
        folder: an existing folder, or one to make; by default `cache_directory`.

    Returns:
        The folder; None where nothing is cached, as where the default folder cannot be used.

    Raises:
        InputError: the folder named here cannot be made, or others can write to it.
    """
    if os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        return Path(os.environ["JAX_COMPILATION_CACHE_DIR"])
    path = cache_directory() if folder is None else Path(folder)
    if path is None:
        return None
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (_is_private(path) and os.access(path, os.W_OK)):
            raise PermissionError("others can write to it, or you cannot")
        _delete_oldest(path)
    except OSError as error:
        if folder is None:
            return None
        raise InputError(
            f"compiled programs cannot be cached in {str(path)!r}: {error}. Name a folder of your "
            "own that only you can write to (chmod 700)."
        ) from error
    settings = {"jax_compilation_cache_dir": str(path), **SETTINGS}
    for name, value in settings.items():
        os.environ.setdefault(name.upper(), str(value))
        # Once it is imported, JAX looks at its environment no more.
        if "jax" in sys.modules:
            sys.modules["jax"].config.update(name, value)
    # JAX writes a file where others read it. A checksum tells it from a whole one.
    warnings.filterwarnings("ignore", "Error reading persistent compilation cache entry")
    return path


def _is_private(path: Path) -> bool:
    """Return whether a folder belongs to the user and nobody else can write to it."""
    status = path.stat()
    if not hasattr(os, "getuid"):  # Windows keeps a user's folders apart by itself.
        return True
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _delete_oldest(path: Path) -> None:
    """Delete what a full disk left empty, and the oldest programs beyond `LARGEST`."""
    files, total = [], 0
    for file in path.glob("*-cache"):
        with suppress(FileNotFoundError):  # Another process deletes too.
            files.append((file.stat(), file))
    for status, file in sorted(files, key=lambda entry: -entry[0].st_mtime):
        total += status.st_size
        if total > LARGEST or not status.st_size:
            file.unlink(missing_ok=True)
