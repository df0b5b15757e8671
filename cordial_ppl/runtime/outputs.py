"""Output files: a file or a folder appears complete under its name, or not at all."""

import os
import shutil
import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cordial_ppl.errors import FileError, as_path, quote

_UNFINISHED: set[Path] = set()


def check_writable(path: str | Path, *, endings: Collection[str] | None = None) -> None:
    """Check before the work that a file can be written after it.

    Args:
        path: The file.
        endings: The endings that its name may have; by default any.

    Raises:
        FileError: The ending is none of them, the folder is missing or may not be written to, or
            the path is a folder.
    """
    path = as_path(path, "write")
    if endings is not None and path.suffix.lower() not in endings:
        raise FileError(f"{path}: the file name must end in {name_endings(endings)}.")
    with _beside(path, folder=False):
        pass


def name_endings(endings: Collection[str]) -> str:
    """List endings for a message: ".cordial", or ".csv, .jsonl or .parquet"."""
    *others, last = endings
    return f"{', '.join(others)} or {last}" if others else last


@contextmanager
def replacing(path: str | Path, *, folder: bool = False) -> Iterator[Path]:
    """Write to a file that then takes the place of `path`.

    Whatever ends the process meanwhile, the old file is there; only a process that is killed leaves
    an unfinished file beside it, whose name begins with a dot. Who may read and write the old file
    may read and write the new one.

    Args:
        path: The file to replace or make.
        folder: Whether to make a folder, which must not exist yet.

    Yields:
        The temporary file or folder, empty; its name tells nothing of `path`.

    Raises:
        FileError: The file cannot be written; nothing is left behind.
    """
    with _beside(path, folder) as (temporary, target):
        yield temporary
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)


def discard_unfinished() -> None:
    """Remove all temporary files: for a program that exits at once."""
    for temporary in tuple(_UNFINISHED):
        _discard(temporary)


def _discard(temporary: Path) -> None:
    shutil.rmtree(temporary, ignore_errors=True)
    with suppress(OSError):  # A folder is gone by now.
        temporary.unlink()
    _UNFINISHED.discard(temporary)


@contextmanager
def _beside(path: str | Path, folder: bool) -> Iterator[tuple[Path, Path]]:
    """Make an empty file or folder beside `path`, or what it links to; it is removed at the end."""
    target = Path(os.path.realpath(as_path(path, "write")))
    temporary = target.with_name(f".{uuid.uuid4().hex}{target.suffix}")
    if os.path.isdir(target):
        raise FileError(f"cannot write {path}: the path is a folder.")
    if os.path.exists(target) and not os.path.isfile(target):
        # Replacing a device or a pipe would destroy it.
        raise FileError(f"cannot write {path}: the path is a device or a pipe.")
    _UNFINISHED.add(temporary)
    try:
        # A name that is too long is refused only when it is looked up.
        with suppress(FileNotFoundError):
            target.stat()
        mode = 0o600 if target.exists() else 0o666
        temporary.mkdir() if folder else temporary.touch(mode=mode, exist_ok=False)
        yield temporary, target
    except OSError as error:
        reason = (error.strerror or error) if target.parent.is_dir() else "the folder is missing"
        raise FileError(f"cannot write {path}: {reason}.") from error
    except UnicodeEncodeError as error:
        half = quote(error.object[error.start : error.end])
        raise FileError(f"cannot write {path}: {half} cannot be encoded in UTF-8.") from error
    finally:
        _discard(temporary)
