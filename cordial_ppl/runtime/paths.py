"""Paths of files, as users write them."""

import os
from pathlib import Path
from typing import Any

from cordial_ppl.errors import FileError, quote


def as_path(path: Any, verb: str = "read") -> Path:
    """Make a path of text, or of what stands for a path.

    Raises:
        FileError: It is neither, or holds a null character.
    """
    try:
        if "\0" not in os.fspath(path):
            return Path(path)
    except TypeError:  # Bytes are no text.
        pass
    raise FileError(f"cannot {verb} {quote(path)}: a path is text, without a null character.")
