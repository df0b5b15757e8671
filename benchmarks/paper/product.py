"""A table of the paper with its caption, perhaps a figure, and their files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from styles import label

from cordial_ppl.plots.figure import Figure, looking

Record = dict[str, Any]
"""A row by the names of its columns."""

NOTHING = "–"
"""Stands in a table for readers where there is no number."""


@dataclass(frozen=True)
class Product:
    """Product of the experiments: files of a name, with what stands in them.

    Attributes:
        table: the numbers in full, one row a result.
        shown: the same for reading: fewer digits, laid out in two directions.
        notes: sentences on what came out and on what failed.
        draw: makes the figure; None where there is none.
    """

    name: str
    title: str
    caption: str
    table: pl.DataFrame
    shown: pl.DataFrame
    notes: tuple[str, ...] = ()
    draw: Callable[[], Figure] | None = None

    def write(self, folder: Path) -> list[Path]:
        """Write `NAME.csv` and `NAME.md`, and the figure as `NAME.png` and `NAME.pdf`."""
        paths = [folder / f"{self.name}{ending}" for ending in (".csv", ".md", ".png", ".pdf")]
        self.table.write_csv(paths[0])
        paths[1].write_text(self._page(), "utf-8")
        if self.draw is None:
            return paths[:2]
        figure: Any = self.draw()
        with looking():
            figure.savefig(paths[2])
            # The same figure gives the same file.
            figure.savefig(paths[3], metadata={"CreationDate": None})
        return paths

    def _page(self) -> str:
        """Return the page: heading, caption, figure, table and notes."""
        figure = (f"![{self.title}]({self.name}.png)",) if self.draw else ()
        table = lay_out(self.shown.columns, (map(_cell, row) for row in self.shown.rows()))
        return "\n\n".join((f"# {self.title}", self.caption, *figure, table, *self.notes)) + "\n"


def tabulate(records: Iterable[Record]) -> pl.DataFrame:
    """Make a table of rows with the same columns; NaN becomes an empty cell."""
    return pl.DataFrame(list(records), infer_schema_length=None).fill_nan(None)


def spread(
    table: pl.DataFrame,
    down: Sequence[str],
    across: Sequence[str],
    text: Callable[[Record], str],
    names: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """Lay a table out in two directions: the text of each row where the two meet.

    Cells of the columns `down` begin a row, those of `across`, joined, head a column; methods get
    the names that figures show, and further ones get `names`.
    """
    labels = {method: label(method) for method in table["method"]} | dict(names or {})
    return (
        table.with_columns(
            pl.col("method").replace_strict(labels),
            pl.concat_str(across, separator=", ").alias("across"),
            pl.Series("text", map(text, table.to_dicts()), pl.String),
        )
        .pivot("across", index=down, values="text")
        .fill_null(NOTHING)
    )


def lay_out(head: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """Lay out a table in Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows))


def number(value: float | None, form: str = ".3f", error: float | None = None) -> str:
    """Write a number for reading, or a dash where there is none, and its standard error if any."""
    if value is None or value != value:
        return NOTHING
    # Less is rounding of a figure that is the same for all draws.
    sure = error is None or not error > 1e-9
    return f"{value:{form}}" + ("" if sure else f" ± {error:{form.removeprefix('+')}}")


def bold(text: str, wanted: bool | None) -> str:
    """Set the number of a text in bold, and not the error behind it."""
    value, sign, error = text.partition(" ± ")
    return f"**{value}**{sign}{error}" if wanted else text


def _cell(cell: Any) -> str:
    return number(cell) if cell is None or isinstance(cell, float) else str(cell)
