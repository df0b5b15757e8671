"""Zip archives member by member, those packed with Zstandard too, which `zipfile` cannot open."""

import zipfile
from pathlib import Path

from cordial_ppl.errors import FileError

ZSTANDARD = 93
"""Zip's number of that method."""

HEADER = 30
"""Bytes of a member's own header before its name; lengths of name and extra field end it."""


def list_members(path: Path) -> dict[str, zipfile.ZipInfo]:
    """List what an archive holds.

    Args:
        path: The archive.

    Returns:
        Its members by name; of one that was written twice, the last.

    Raises:
        FileError: The file cannot be read, or is no archive or half of one.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return {member.filename: member for member in archive.infolist()}
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except zipfile.BadZipFile as error:
        raise FileError(
            f"{path} must be a zip archive; it is not, or was cut off: {error}."
        ) from error


def read_member(path: Path, member: zipfile.ZipInfo) -> bytes:
    """Unpack a member of an archive.

    Args:
        path: The archive.
        member: Which one.

    Returns:
        Its contents.

    Raises:
        FileError: It is damaged, or packed in a way that is not known.
    """
    try:
        if member.compress_type != ZSTANDARD:
            with zipfile.ZipFile(path) as archive:
                return archive.read(member)
        return _unpack(_raw(path, member))
    except (zipfile.BadZipFile, NotImplementedError, OSError, EOFError) as error:
        raise FileError(f"{path}: {member.filename} cannot be unpacked: {error}.") from error


def _raw(path: Path, member: zipfile.ZipInfo) -> bytes:
    with path.open("rb") as file:
        file.seek(member.header_offset)
        header = file.read(HEADER)
        name, extra = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
        file.seek(name + extra, 1)
        return file.read(member.compress_size)


def _unpack(packed: bytes) -> bytes:
    try:
        import pyarrow
    except ImportError as error:
        raise FileError("reading Zstandard needs pyarrow: pip install pyarrow.") from error
    with pyarrow.CompressedInputStream(pyarrow.BufferReader(packed), "zstd") as stream:
        return stream.read()
