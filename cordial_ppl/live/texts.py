"""The texts that a model is asked about: a table with a row for each."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cordial_ppl.errors import InputError, name_rows
from cordial_ppl.tables.columns import KINDS, passed_through
from cordial_ppl.tables.files import Columns, is_filled, list_names, read_columns
from cordial_ppl.tables.rows import as_name, read_items


@dataclass(frozen=True)
class Texts:
    """The texts of a table.

    Attributes:
        item_ids: Their names, each once.
        cells: What else the table says of each, as text, by column.
        extras: The columns that no prompt puts in, as the table has them.
    """

    item_ids: list[str]
    cells: Mapping[str, list[str]]
    extras: Mapping[str, list]

    def __len__(self) -> int:
        """The number of texts."""
        return len(self.item_ids)

    def fields(self, position: int) -> dict[str, str]:
        """What a prompt may say of a text, by column."""
        return {name: column[position] for name, column in self.cells.items()}

    def passed_on(self, item_ids: Sequence[str], taken: Collection[str]) -> dict[str, list]:
        """List what a table of readings is to say of texts beside their readings.

        Args:
            item_ids: The texts.
            taken: Columns that the table has already.

        Returns:
            The other columns, but for those that would be taken for readings.
        """
        places = {item: i for i, item in enumerate(self.item_ids)}
        return {
            name: [cells[places[item]] for item in item_ids]
            for name, cells in self.extras.items()
            if name not in taken and not _is_reading(name)
        }

    def held_back(self, taken: Collection[str]) -> list[str]:
        """Name the columns that a table of readings cannot have, for they would be readings."""
        return [name for name in self.extras if name in taken or _is_reading(name)]


def read_texts(path: str | Path, needed: Collection[str]) -> Texts:
    """Read a table of texts.

    Args:
        path: A .csv, .parquet, .jsonl or .ndjson file with `item_id`.
        needed: The columns that a prompt puts in.

    Returns:
        The texts.

    Raises:
        FileError: The file cannot be read or is not what its ending says.
        InputError: A column is missing, an item has no name or occurs twice, or a cell that a
            prompt puts in is empty.
    """
    columns = read_columns(path)
    extras = passed_through(columns, ["item_id", *needed])
    return Texts(read_items(columns), read_cells(columns, needed), extras)


def read_cells(columns: Columns, needed: Collection[str]) -> dict[str, list[str]]:
    """Read every cell of a table as text.

    Args:
        columns: The table.
        needed: Columns that must be there and filled.

    Returns:
        The cells by column.

    Raises:
        InputError: Such a column is missing, or a cell of it is empty.
    """
    for name in needed:
        if name not in columns.cells:
            raise InputError(
                f"{columns.path}: the prompt needs the column {name!r}; found "
                f"{list_names(columns.cells)}. A prompt of your own (--prompt) may name others."
            )
        empty = [i for i, cell in enumerate(columns.cells[name]) if not is_filled(cell)]
        if empty:
            places = name_rows(empty, columns.where)
            raise InputError(f"{columns.path}: the column {name!r} is empty in {places}.")
    return {name: [_as_text(cell) for cell in column] for name, column in columns.cells.items()}


def _as_text(cell: object) -> str:
    return cell if isinstance(cell, str) else as_name(cell)


def _is_reading(column: str) -> bool:
    return column == "rating" or column.startswith(tuple(f"{kind}_" for kind in KINDS))
