"""Parquet tables that need not fit the memory: a file, or a folder of files, block by block."""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa

from cordial_ppl.errors import FileError
from cordial_ppl.tables.arrow import ArrowCells, open_parquet
from cordial_ppl.tables.files import Columns, check_table, list_names, no_rows

BLOCK = 1 << 15
"""Rows that are read and predicted at a time."""

ENDING = ".parquet"


@dataclass(frozen=True)
class Block:
    """Some rows of a Parquet file.

    Attributes:
        path: The file.
        before: How many rows the table has in earlier files.
        rows: Where each row stands in the file.
        table: The rows themselves.
    """

    path: Path
    before: int
    rows: Sequence[int]
    table: pa.Table

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.rows)

    @property
    def columns(self) -> Columns:
        """The rows as other tables have them."""
        return Columns(self.path, ArrowCells(self.table), self.rows, "row")

    def take(self, positions: list[int]) -> "Block":
        """Keep some rows."""
        rows = [self.rows[i] for i in positions]
        return replace(self, rows=rows, table=self.table.take(pa.array(positions, pa.int64())))


@dataclass(frozen=True)
class BlockTable:
    """A Parquet file, or a folder of them in the order of their names; `open_blocks` makes it.

    Attributes:
        path: The file or the folder.
        files: The files.
        ends: For each file, how many rows it and those before it hold.
        schema: Names and types of the columns, which all files have.
    """

    path: Path
    files: tuple[Path, ...]
    ends: tuple[int, ...]
    schema: pa.Schema

    def __len__(self) -> int:
        """The number of rows."""
        return self.ends[-1]

    @property
    def header(self) -> Columns:
        """The columns without a row."""
        return Columns(self.path, ArrowCells(self.schema.empty_table()), range(0), "row")

    def where(self, row: int) -> str:
        """Name the place of a row: "row 7", or in a folder "row 7 of part-2.parquet"."""
        number = bisect_right(self.ends, row)
        start = self.ends[number - 1] if number else 0
        return f"row {row - start}{self.source(self.files[number])}"

    def source(self, file: Path) -> str:
        """Say which file of a folder is meant: " of part-2.parquet"; nothing of a single file."""
        return "" if file == self.path else f" of {file.name}"

    def blocks(
        self,
        names: Collection[str] | None = None,
        size: int | None = None,
        rows: range | None = None,
    ) -> Iterator[Block]:
        """Read the rows in order.

        Args:
            names: The columns to read; by default all.
            size: The most rows of a block; by default `BLOCK`.
            rows: The rows to read, counted over all files; by default all.

        Yields:
            Rows of one file.

        Raises:
            FileError: A file is damaged, or was changed.
        """
        chosen = [name for name in self.schema.names if names is None or name in names]
        schema = pa.schema([self.schema.field(name) for name in chosen])
        wanted = range(len(self)) if rows is None else rows
        for file, end, before in zip(self.files, self.ends, (0, *self.ends), strict=False):
            first, stop = max(wanted.start, before) - before, min(wanted.stop, end) - before
            if first >= stop:
                continue
            with open_parquet(file) as parquet:
                if parquet.metadata.num_rows != end - before:
                    raise FileError(f"{file} was changed while it was read.")
                groups, row = _find_groups(parquet.metadata, first, stop)
                for batch in parquet.iter_batches(size or BLOCK, groups, chosen):
                    start, last = max(first, row), min(stop, row + len(batch))
                    if start < last:
                        own = batch.slice(start - row, last - start)
                        table = pa.Table.from_batches([own]).select(chosen).cast(schema)
                        yield Block(file, before, range(start, last), table)
                    row += len(batch)


def open_blocks(path: Path) -> BlockTable:
    """Look at a Parquet file, or at the files of a folder whose names end in .parquet.

    Args:
        path: The file or the folder.

    Returns:
        The table, of which no row is read yet.

    Raises:
        FileError: It is missing, empty or no Parquet file, a folder holds no such file, or its
            files have other columns, or columns of other types, than the first.
    """
    files = _list_files(path) if path.is_dir() else (path,)
    schemas: list[pa.Schema] = []
    rows: list[int] = []
    for file in files:
        check_table(file)
        with open_parquet(file) as parquet:
            own = parquet.schema_arrow
            schemas.append(pa.schema([pa.field(column.name, column.type) for column in own]))
            rows.append(parquet.metadata.num_rows)
        _reject_other_columns(file, schemas[-1].names, files[0], schemas[0].names)
    try:
        # A column without a value, or of whole numbers, may be of another type in the next file.
        schema = pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowException as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise FileError(f"the files of {path} do not fit together: {reason}.") from error
    if not sum(rows):
        raise no_rows(path)
    return BlockTable(path, files, tuple(accumulate(rows)), schema)


def _find_groups(metadata: Any, first: int, stop: int) -> tuple[list[int], int]:
    """The row groups with rows from `first` up to `stop`, and where the first of them begins."""
    sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    starts = list(accumulate(sizes, initial=0))
    groups = [g for g in range(len(sizes)) if starts[g] < stop and starts[g + 1] > first]
    return groups, starts[groups[0]]


def _list_files(folder: Path) -> tuple[Path, ...]:
    """The tables of a folder; what begins with a dot or an underscore is no part of it."""
    files = [
        file
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.suffix.lower() == ENDING and not file.name.startswith((".", "_"))
    ]
    if not files:
        raise FileError(f"{folder} is a folder without a file whose name ends in {ENDING}.")
    return tuple(files)


def _reject_other_columns(file: Path, names: list[str], first: Path, known: list[str]) -> None:
    lacking = [name for name in known if name not in names]
    if lacking:
        raise FileError(f"{file} lacks what {first.name} has: {list_names(lacking)}.")
    added = [name for name in names if name not in known]
    if added:
        raise FileError(f"{file} has what {first.name} has not: {list_names(added)}.")
