"""Zip archives member by member, those packed with Zstandard too."""

import lzma
import sys
import zlib
from pathlib import Path

from cordial_ppl.errors import FileError

if sys.version_info >= (3, 14):
    import zipfile

    from compression.zstd import ZstdError
else:
    from backports.zstd import ZstdError, zipfile

DAMAGES = (
    *(zlib.error, lzma.LZMAError, ZstdError),
    *(EOFError, OSError, RuntimeError, zipfile.BadZipFile),
)
"""What is raised for what is damaged, encrypted or packed in an unknown way."""

LARGEST = 64 * 1024 * 1024
"""Bytes of the largest member that is unpacked: no log of one text comes near it."""


class Archive(zipfile.ZipFile):
    """An open archive, to be used in a `with` statement.

    Args:
        path: The archive.

    Raises:
        FileError: The file cannot be read, or is no archive or half of one.
    """

    def __init__(self, path: Path):
        self.path = path
        try:
            super().__init__(path)
        except OSError as error:
            raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
        except DAMAGES as error:
            raise FileError(
                f"{path} must be a zip archive; it is not, or was cut off: {error}."
            ) from error

    @property
    def names(self) -> list[str]:
        """What it holds; of a member that was written twice, the last counts."""
        return list(dict.fromkeys(self.namelist()))

    def unpack(self, name: str) -> bytes:
        """Unpack a member.

        Args:
            name: Which one.

        Returns:
            Its contents.

        Raises:
            FileError: It is damaged, packed in a way that is not known, or far too large.
        """
        try:
            with self.open(name) as file:
                content = file.read(LARGEST + 1)
        except DAMAGES as error:
            raise FileError(f"{self.path}: {name} cannot be unpacked: {error}.") from error
        if len(content) > LARGEST:
            raise FileError(
                f"{self.path}: {name} must unpack to at most {LARGEST >> 20} MB; it has more."
            )
        return content
