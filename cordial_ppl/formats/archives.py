"""Zip archives member by member, those packed with Zstandard too, which `zipfile` cannot open."""

import lzma
import zipfile
import zlib
from io import BufferedReader
from pathlib import Path

from cordial_ppl.errors import FileError

ZSTANDARD = 93
"""Zip's number of that method."""

HEADER = 30
"""Bytes of a member's own header before its name; lengths of name and extra field end it."""

DAMAGES = (zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError, zipfile.BadZipFile)
"""What is raised for what is damaged, encrypted or packed in an unknown way."""

LARGEST = 64 * 1024 * 1024
"""Bytes of the largest member that is unpacked: no log of one text comes near it."""


class Archive:
    """An archive that is open, to be used in a `with` statement.

    Args:
        path: The archive.

    Attributes:
        names: What it holds.

    Raises:
        FileError: The file cannot be read, or is no archive or half of one.
    """

    def __init__(self, path: Path):
        self.path = path
        try:
            self._file: BufferedReader = path.open("rb")
        except OSError as error:
            raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
        try:
            self._zip = zipfile.ZipFile(self._file)
        except DAMAGES as error:
            self._file.close()
            raise FileError(
                f"{path} must be a zip archive; it is not, or was cut off: {error}."
            ) from error
        # Of a member that was written twice, the last counts.
        self._members = {member.filename: member for member in self._zip.infolist()}
        self.names = list(self._members)

    def __enter__(self) -> "Archive":
        """Hand over the archive."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close the file."""
        self._zip.close()
        self._file.close()

    def read(self, name: str) -> bytes:
        """Unpack a member.

        Args:
            name: Which one.

        Returns:
            Its contents.

        Raises:
            FileError: It is damaged, packed in a way that is not known, or far too large.
        """
        member = self._members[name]
        try:
            if member.compress_type == ZSTANDARD:
                content = _unpack(self._raw(member))
            else:
                with self._zip.open(member) as file:
                    content = file.read(LARGEST + 1)
        except DAMAGES as error:
            raise FileError(f"{self.path}: {name} cannot be unpacked: {error}.") from error
        if len(content) > LARGEST:
            raise FileError(
                f"{self.path}: {name} must unpack to at most {LARGEST >> 20} MB; it has more."
            )
        return content

    def _raw(self, member: zipfile.ZipInfo) -> bytes:
        self._file.seek(member.header_offset)
        header = self._file.read(HEADER)
        name, extra = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
        self._file.seek(name + extra, 1)
        return self._file.read(member.compress_size)


def _unpack(packed: bytes) -> bytes:
    try:
        import pyarrow
    except ImportError as error:
        raise FileError("reading Zstandard needs pyarrow: pip install pyarrow.") from error
    with pyarrow.CompressedInputStream(pyarrow.BufferReader(packed), "zstd") as stream:
        return stream.read(LARGEST + 1)
