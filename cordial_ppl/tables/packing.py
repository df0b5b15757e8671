"""Packed files: what unpacks to more than `limits` allow is refused before its reader opens it."""

import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from cordial_ppl.data import limits
from cordial_ppl.errors import CordialError, FileError

PIECE = 1 << 20
"""Bytes of an archive that are unpacked at a time."""

PACKED = {rb"\x1f\x8b": "gzip", rb"\x28\xb5\x2f\xfd": "Zstandard", rb"BZh[1-9]1AY": "bzip2"}
PACKED |= {rb"\xfd7zXZ": "xz", rb"PK\x03\x04": "zip"}
"""First bytes of files that have to be unpacked by the user."""


def check_packed(path: Path) -> None:
    """Refuse a file that is compressed as a whole, and no workbook: nothing of it is unpacked."""
    with path.open("rb") as file:
        head = file.read(8)
    for mark, packing in PACKED.items():
        if re.match(mark, head) and (packing != "zip" or path.suffix.lower() != ".xlsx"):
            raise FileError(f"{path} is compressed with {packing}: decompress it first.")


def check_archive(path: Path) -> None:
    """Refuse an archive that unpacks to more than `limits.UNPACKED`; what is none is left alone."""
    for _ in unpack(path):
        pass


def unpack(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the parts of an archive in pieces, each with its name; refuse it beyond the limit."""
    unpacked = 0
    with _leaving_damage(), zipfile.ZipFile(path) as file:
        _check_size(path, sum(part.file_size for part in file.infolist()))
        for part in file.infolist():
            part.file_size = 1 << 62  # Nothing beyond it would be read, and it may be a lie.
            with _leaving_damage(), file.open(part) as stream:
                while piece := stream.read(PIECE):
                    unpacked += len(piece)
                    _check_size(path, unpacked)
                    yield part.filename, piece


def check_footer(path: Path) -> None:
    """Refuse a Parquet file beyond the limits, of 4 bytes a cell, or at which polars panics."""
    with _leaving_damage(), path.open("rb") as file:
        file.seek(-8, 2)
        length = int.from_bytes(file.read(4), "little")
        file.seek(-8 - length, 2)
        footer, end = _decode(iter(file.read(length))), path.stat().st_size
        rows, groups = footer[3], footer[4]
        good = rows == sum(group[3] for group in groups)
        for rows_here, cells in ((it[3], chunk.get(3, {})) for it in groups for chunk in it[1]):
            start = cells.get(11, cells.get(9, -1))
            good &= 0 <= start <= start + cells.get(7, end) <= end
            good &= len(cells.get(3, "")) > 1 or cells.get(5) == rows_here  # Lists differ.
        if not good:
            raise FileError(f"{path} is damaged: its footer contradicts itself, or the file.")
        size = max(sum(group[2] for group in groups), 4 * rows * len(footer[2]))
        if size > limits.RATIO * end:
            _check_size(path, size)


def _decode(data: Iterator[int], kind: int = 12, depth: int = 0) -> Any:
    """Decode a value of Thrift's compact protocol, without what lies within columns."""
    if kind == 12:
        fields, field = {}, 0
        while head := next(data):
            field = field + (head >> 4) if head > 15 else _decode(data, 4)
            fields[field] = _decode(data, head & 15, depth + 1)
        return fields if depth < 4 else None
    if kind in (9, 10):
        head = next(data)
        count = head >> 4 if head < 240 else _count(data)
        return [_decode(data, max(head & 15, 3), depth) for _ in range(count)]
    if kind in (1, 2, 3, 7):
        return [*islice(data, {3: 1, 7: 8}.get(kind, 0))]
    number = _count(data)
    return [*islice(data, number)] if kind == 8 else number >> 1 ^ -(number & 1)


def _count(data: Iterator[int]) -> int:
    """Read a whole number, seven bits a byte."""
    byte = next(data)
    return byte if byte < 128 else byte - 128 + (_count(data) << 7)


def _check_size(path: Path, size: int) -> None:
    if size > limits.UNPACKED:
        raise FileError(
            f"{path} would unpack to {size / 1e9:.1f} GB, and {limits.UNPACKED >> 30} GiB is the "
            "limit: save it as CSV, or in parts."
        )


@contextmanager
def _leaving_damage() -> Iterator[None]:
    """Leave what a damaged file raises to its reader, which names it."""
    try:
        yield
    except CordialError:
        raise
    except Exception:
        pass
