"""Zip archives member by member, those packed with Zstandard too, which `zipfile` cannot open."""

import io
import lzma
import zipfile
import zlib
from pathlib import Path

from cordial_ppl.errors import FileError

ZSTANDARD = 93
"""Zip's number of that method."""

HEADER = 30
"""Bytes of a member's header before its name; the lengths of name and extra field end it."""

DAMAGES = (zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError, zipfile.BadZipFile)
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
        member = self.getinfo(name)
        try:
            if member.compress_type == ZSTANDARD:
                content = self._unpack_zstandard(member)
            else:
                with self.open(member) as file:
                    content = file.read(LARGEST + 1)
        except DAMAGES as error:
            raise FileError(f"{self.path}: {name} cannot be unpacked: {error}.") from error
        if len(content) > LARGEST:
            raise FileError(
                f"{self.path}: {name} must unpack to at most {LARGEST >> 20} MB; it has more."
            )
        return content

    def _unpack_zstandard(self, member: zipfile.ZipInfo) -> bytes:
        from zstandard import ZstdDecompressor, ZstdError

        with self.path.open("rb") as file:
            file.seek(member.header_offset)
            header = file.read(HEADER)
            lengths = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
            file.seek(sum(lengths), 1)
            packed = io.BytesIO(file.read(member.compress_size))
        try:
            with ZstdDecompressor().stream_reader(packed, read_across_frames=True) as stream:
                return stream.read(LARGEST + 1)
        except ZstdError as error:
            raise OSError(str(error)) from error
