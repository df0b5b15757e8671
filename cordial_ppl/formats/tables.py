"""Tables of readings and of labels: one row a text, found by its `item_id`.

A file may hold several readers and tasks; one of each is chosen by name. Columns that are neither
readings nor labels are passed through.
"""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64, Int64

from cordial_ppl.errors import InputError, Where, name_rows, naming
from cordial_ppl.formats.columns import (
    filled,
    find_kind,
    numbers,
    passed_through,
    read_logits,
    read_scale,
    reading_columns,
)
from cordial_ppl.formats.files import ABSENT, Columns, list_names, read_columns
from cordial_ppl.scale import Scale, SettingNeeded, parse_number


@dataclass(frozen=True)
class ReadingTable:
    """The readings of a file.

    Attributes:
        item_ids: The texts, each once.
        logits: Centred logits [n, K] (nats).
        scale: The K options.
        kind: What the file holds: "logit", "logprob", "p", "n" or "rating".
        extras: Every other column, by name, with None for a missing cell.
        rows: Where each row stands in the file.
        unit: What `rows` counts: "line" (the first is 1) or, in Parquet, "row" (the first is 0).
    """

    item_ids: list[str]
    logits: Float64[np.ndarray, "n K"]
    scale: Scale
    kind: str
    extras: dict[str, list]
    rows: list[int]
    unit: str

    def where(self, position: int) -> str:
        """Name the place of a row in the file: "line 7"."""
        return f"{self.unit} {self.rows[position]}"

    def covariate(self, name: str) -> Float64[np.ndarray, " n"]:
        """Read an extra column as numbers.

        Args:
            name: The column.

        Returns:
            Its numbers, [n].

        Raises:
            InputError: There is no such column, or a cell is not a finite number.
        """
        return finite_column(self.extras, name, self.where)


def finite_column(extras: dict[str, list], name: str, where: Where) -> Float64[np.ndarray, " n"]:
    """Read an extra column as numbers.

    Args:
        extras: The columns.
        name: The column to read.
        where: Names a row in messages.

    Returns:
        Its numbers, [n].

    Raises:
        InputError: There is no such column, or a cell is not a finite number.
    """
    if name not in extras:
        raise InputError(f"there is no column {name!r}; found {list_names(extras)}.")
    values = numbers(extras[name], name, where)
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        places = name_rows(wrong, where)
        raise InputError(f"column {name!r} must be finite numbers; it is not in {places}.")
    return values


@dataclass(frozen=True)
class LabelTable:
    """The labels of a file.

    Attributes:
        item_ids: The texts, each once.
        labels: Positions 0..K-1 on the scale, [n].
        extras: Every other column, by name, with None for a missing cell.
        rows: Where each row stands in the file.
        unit: What `rows` counts: "line" (the first is 1) or, in Parquet, "row" (the first is 0).
    """

    item_ids: list[str]
    labels: Int64[np.ndarray, " n"]
    extras: dict[str, list]
    rows: list[int]
    unit: str

    def where(self, position: int) -> str:
        """Name the place of a row in the file: "line 7"."""
        return f"{self.unit} {self.rows[position]}"

    def among(self, item_ids: Collection[str]) -> "LabelTable":
        """The labels of some texts alone."""
        known = set(item_ids)
        kept = [i for i, item in enumerate(self.item_ids) if item in known]
        return LabelTable(
            [self.item_ids[i] for i in kept],
            self.labels[kept],
            {name: [cells[i] for i in kept] for name, cells in self.extras.items()},
            [self.rows[i] for i in kept],
            self.unit,
        )


def read_readings(
    path: str | Path, *, options: Any = None, reader: str | None = None, task: str | None = None
) -> ReadingTable:
    """Read what a judge said of each text.

    Args:
        path: A .csv, .parquet, .jsonl or .ndjson file with `item_id` and one group of columns
            `logit_`, `logprob_`, `p_` or `n_` (or one column `rating`).
        options: The K options in the scale's order; by default the columns' order in the file. A
            column `rating` needs them.
        reader: The judge to take, where the file holds several.
        task: The task to take, where the file holds several.

    Returns:
        The readings.

    Raises:
        FileError: The file cannot be read or is not what its ending says.
        InputError: A column or a name is missing, an item occurs twice, or a reading is no
            reading; with its row and column.
        SettingNeeded: The file holds several readers or tasks, or a column `rating` has no options.
    """
    columns = read_columns(path)
    columns.column("item_id")
    columns = _select(columns, "task", task)
    columns = _select(columns, "reader", reader)
    kind = find_kind(columns)
    scale = read_scale(columns, kind, options)
    item_ids = _item_ids(columns)
    with naming(path):
        logits = read_logits(columns, kind, scale)
    extras = passed_through(columns, ["item_id", *reading_columns(columns, kind, scale)])
    return ReadingTable(item_ids, logits, scale, kind, extras, list(columns.rows), columns.unit)


def read_labels(path: str | Path, scale: Scale, *, task: str | None = None) -> LabelTable:
    """Read the labels of some texts: one row for each labelled text, none for the others.

    Args:
        path: A .csv, .parquet, .jsonl or .ndjson file with `item_id` and `label`.
        scale: The options that labels are names or positions of.
        task: The task to take, where the file has a column `task`.

    Returns:
        The labels.

    Raises:
        FileError: The file cannot be read or is not what its ending says.
        InputError: A column or a name is missing, an item occurs twice, or a label is missing or
            not on the scale; with its row.
        SettingNeeded: The file holds several tasks, or labels from 1 up where options start at 0.
    """
    columns = read_columns(path)
    columns.column("item_id")
    columns.column("label")
    columns = _select(columns, "task", task if "task" in columns.cells else None)
    item_ids = _item_ids(columns)
    extras = passed_through(columns, ["item_id", "label"])
    remedy = "A table of labels has rows for the labelled texts alone: remove the others."
    with naming(path):
        labels = scale.encode(filled(columns, "label", remedy), where=columns.where)
    return LabelTable(item_ids, labels, extras, list(columns.rows), columns.unit)


def list_values(path: str | Path, field: str, task: str | None = None) -> list[str]:
    """List the names in a column of a table, such as `reader`, in the order of the file.

    Args:
        path: A .csv, .parquet, .jsonl or .ndjson file.
        field: The column.
        task: The task whose rows count; by default all do.

    Returns:
        The names, each once; none if there is no such column.

    Raises:
        FileError: The file cannot be read or is not what its ending says.
        InputError: There is no such task.
    """
    columns = read_columns(path)
    if task is not None:
        columns = _select(columns, "task", task)
    cells = columns.cells.get(field, ())
    return list(dict.fromkeys(map(as_name, cells)))


@runtime_checkable
class Items(Protocol):
    """Anything that has a row for each of some texts."""

    @property
    def item_ids(self) -> list[str]:
        """The texts."""
        ...


def match_labels(readings: Items, labels: LabelTable) -> Int64[np.ndarray, " n"]:
    """Find the reading of each labelled text.

    Args:
        readings: The readings.
        labels: The labels.

    Returns:
        Positions in `readings`, one a label.

    Raises:
        InputError: A label belongs to no text of the readings.
    """
    positions = {item: i for i, item in enumerate(readings.item_ids)}
    unknown = [i for i, item in enumerate(labels.item_ids) if item not in positions]
    if unknown:
        shown = ", ".join(f"{labels.item_ids[i]!r} ({labels.where(i)})" for i in unknown[:5])
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        raise InputError(
            f"{len(unknown)} of {len(labels.item_ids)} labels are for items without a reading: "
            f"{shown}{more}. {_remedy([labels.item_ids[i] for i in unknown], readings.item_ids)}"
        )
    return np.array([positions[item] for item in labels.item_ids], np.int64)


def _remedy(unknown: list[str], known: list[str]) -> str:
    """What to do about unknown items; numbers may be written otherwise in the other file."""
    numbers = {parse_number(item): item for item in known}
    for item in unknown:
        number = parse_number(item)
        if number is not None and number in numbers:
            return f"The readings write {item!r} as {numbers[number]!r}: write both alike."
    return "Remove them, or check that both files belong together."


def _select(columns: Columns, field: str, chosen: str | None) -> Columns:
    """Keep the rows of one reader or task (`field` is which)."""
    if chosen is None and field not in columns.cells:
        return columns
    cells = [as_name(cell) for cell in columns.column(field)]
    names = list(dict.fromkeys(cells))
    if chosen is None:
        if len(names) > 1:
            problem = f"{columns.path} holds {len(names)} {field}s: {list_names(names)}."
            raise SettingNeeded(problem, "Choose one, for example", field, names[0])
        return columns
    if chosen.strip() not in names:
        raise InputError(f"{columns.path} has no {field} {chosen!r}; found {list_names(names)}.")
    return columns.take([i for i, cell in enumerate(cells) if cell == chosen.strip()])


def _item_ids(columns: Columns) -> list[str]:
    items = [as_name(cell) for cell in columns.column("item_id")]
    unnamed = [i for i, item in enumerate(items) if not item]
    if unnamed:
        places = name_rows(unnamed, columns.where)
        raise InputError(f"{columns.path}: every row needs an item_id; there is none in {places}.")
    if len(set(items)) < len(items):
        positions: dict[str, list[int]] = {}
        for i, item in enumerate(items):
            positions.setdefault(item, []).append(i)
        doubled = [item for item in positions if len(positions[item]) > 1]
        rows = name_rows(positions[doubled[0]], columns.where)
        raise InputError(
            f"{columns.path}: an item_id must occur once; {doubled[0]!r} is in {rows}"
            + (f", and {len(doubled) - 1} more occur again." if len(doubled) > 1 else ".")
        )
    return items


def as_name(cell: object) -> str:
    """Read a cell as a name; 3.0 is '3', for whole numbers with gaps are stored as floats."""
    if isinstance(cell, float | np.floating):
        return "" if np.isnan(cell) else f"{cell:.0f}" if cell.is_integer() else repr(float(cell))
    return "" if cell is None or cell is ABSENT else str(cell).strip()
