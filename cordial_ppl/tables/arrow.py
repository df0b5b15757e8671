"""Parquet as tables see it: a file that is opened or refused, and columns of plain cells."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from cordial_ppl.errors import FileError, quote

DENSEST = 4
"""Rows a byte beyond which a file is refused: columns of one value pack a million rows into a few,
but texts have names, of which none is like another."""


class ArrowCells(Mapping[str, Sequence | np.ndarray]):
    """The columns of an Arrow table as plain cells, each made when it is first asked for."""

    def __init__(self, table: Any):
        self._table = table
        self._made: dict[str, Sequence | np.ndarray] = {}

    def __getitem__(self, name: str) -> Sequence | np.ndarray:
        if name not in self._made:
            try:
                self._made[name] = _cells(self._table[name])
            # Dates beyond those that Python has, or bytes that are no text.
            except (ArithmeticError, ValueError) as error:
                raise FileError(f"column {quote(name)} cannot be read: {error}.") from error
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._table.column_names

    def __iter__(self) -> Iterator[str]:
        return iter(self._table.column_names)

    def __len__(self) -> int:
        return self._table.num_columns


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """Open a Parquet file.

    Args:
        path: The file.

    Yields:
        A `pyarrow.parquet.ParquetFile`.

    Raises:
        FileError: It cannot be read, is no Parquet file, is damaged (also where that shows while
            it is read), or two of its columns have one name.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise FileError(f"reading {path} needs pyarrow: pip install pyarrow.") from error
    try:
        # One file, also in a folder whose name looks like a partition ("task=fluency").
        with pyarrow.parquet.ParquetFile(path) as file:
            rows, size = file.metadata.num_rows, path.stat().st_size
            if rows > DENSEST * size:
                raise FileError(f"{path} claims {rows} rows in {size} bytes: it is no table.")
            reject_doubled(path, file.schema_arrow.names)
            yield file
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise FileError(f"{path} is not a Parquet file, or is damaged: {reason}.") from error


def reject_doubled(path: Path, names: list[str]) -> None:
    """Refuse a header in which a name occurs twice.

    Raises:
        FileError: It does.
    """
    doubled = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if doubled:
        raise FileError(f"{path}: column {quote(doubled[0])} occurs twice in the header.")


def _cells(column: Any) -> Sequence | np.ndarray:
    import pyarrow

    kind = column.type
    number = pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind)
    # A null becomes NaN in an array of numbers, but it is an empty cell.
    plain = number and not column.null_count
    return column.to_numpy() if plain else column.to_pylist()
