"""What an analysis gives: a table, a sentence that says what it shows, perhaps a figure; files."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from cordial_ppl.errors import CordialWarning
from cordial_ppl.products.figure import NEEDED, Figure, can_draw, save_figure
from cordial_ppl.sweep.methods import label
from cordial_ppl.tables import replacing, write_table

Value = str | int | float | bool | None
Record = dict[str, Any]
"""A row by the names of its columns."""

NOTHING = "–"
"""What stands in a table for readers where there is no number."""


@dataclass(frozen=True)
class Table:
    """A table by rows.

    Attributes:
        header: names of the columns.
        rows: their cells, as many in each row; None where there is no number.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    @classmethod
    def of(cls, records: Sequence[Record]) -> "Table":
        """Make a table of records with the same keys; NaN becomes an empty cell."""
        rows = (tuple(map(_without_nan, record.values())) for record in records)
        return cls(tuple(records[0]), tuple(rows))

    def records(self) -> list[Record]:
        """Return the rows by the names of their columns."""
        return [dict(zip(self.header, row, strict=True)) for row in self.rows]

    def columns(self) -> dict[str, list[Value]]:
        """Return the columns by name."""
        return {name: [row[k] for row in self.rows] for k, name in enumerate(self.header)}

    def spread(
        self, down: Sequence[str], across: Sequence[str], text: Callable[[Record], str]
    ) -> "Table":
        """Lay the rows out in two directions, for reading.

        Args:
            down: columns whose cells begin a row.
            across: columns whose cells, joined, head a column.
            text: what stands where the two meet.
        """
        cells: dict[tuple, dict[str, str]] = {}
        for record in self.records():
            row = cells.setdefault(tuple(record[name] for name in down), {})
            row[", ".join(str(record[name]) for name in across)] = text(record)
        heads = tuple(dict.fromkeys(chain.from_iterable(cells.values())))
        rows = (
            (*row, *(found.get(head, NOTHING) for head in heads)) for row, found in cells.items()
        )
        return Table((*down, *heads), tuple(rows))

    def markdown(self) -> str:
        """Return the table in Markdown, numbers with three digits after the point."""
        lines = [self.header, ("---",) * len(self.header), *self.rows]
        return "\n".join(f"| {' | '.join(map(_escaped, line))} |" for line in lines)


@dataclass(frozen=True)
class Product:
    """An analysis of a sweep.

    Attributes:
        name: name of its files.
        title: its heading.
        caption: a sentence that says what its table and figure show.
        table: the numbers in full, one row a result.
        shown: the same for reading: fewer digits, laid out in two directions.
        notes: sentences on what came out and on what failed.
        draw: makes the figure; None where there is none.
    """

    name: str
    title: str
    caption: str
    table: Table
    shown: Table
    notes: tuple[str, ...] = ()
    draw: Callable[[], Figure] | None = None

    def markdown(self, pictured: bool = True) -> str:
        """Return the page: heading, caption, figure where it is pictured, table and notes."""
        figure = (f"![{self.title}]({self.name}.png)",) if self.draw and pictured else ()
        parts = (f"# {self.title}", self.caption, *figure, self.shown.markdown(), *self.notes)
        return "\n\n".join(parts) + "\n"


def write_product(product: Product, folder: str | Path) -> list[Path]:
    """Write `NAME.csv` and `NAME.md`, and the figure as `NAME.png` and `NAME.pdf`.

    Args:
        product: what an analysis gave.
        folder: a folder that is there; files of these names in it are replaced.

    Returns:
        The files; without matplotlib no figure, and a `CordialWarning` says so.

    Raises:
        FileError: a file cannot be written; nothing is left behind.
    """
    draw = product.draw
    if draw and not can_draw():
        # The same words each time: a program shows them once.
        warnings.warn(f"figures are left out; they need {NEEDED}", CordialWarning, stacklevel=2)
        draw = None
    figure = draw() if draw else None
    endings = (".csv", ".md", *((".png", ".pdf") if figure else ()))
    paths = [Path(folder) / f"{product.name}{ending}" for ending in endings]
    with ExitStack() as stack:
        table, page, *pictures = [stack.enter_context(replacing(path)) for path in paths]
        write_table(table, product.table.columns())
        page.write_text(product.markdown(figure is not None), "utf-8")
        for picture in pictures:
            save_figure(figure, picture)
    return paths


def with_labels(table: Table, further: Mapping[str, str] | None = None) -> Table:
    """Put the names that readers see in the column of methods; further ones come first."""
    names = further or {}
    rows = [
        record | {"method": names.get(record["method"]) or label(record["method"])}
        for record in table.records()
    ]
    return Table.of(rows)


def number(value: Any, form: str = ".3f") -> str:
    """Write a number for reading, or a dash where there is none."""
    return NOTHING if value is None or np.isnan(value) else f"{value:{form}}"


def _without_nan(value: Value) -> Value:
    return None if isinstance(value, float) and np.isnan(value) else value


def _escaped(value: Value) -> str:
    if value is None or isinstance(value, float):
        return number(value)
    text = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
    return " ".join(text.replace("|", "\\|").split())
