"""Product of an analysis: a table, a caption, perhaps a figure; and their files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from cordial_ppl.errors import as_path, warn
from cordial_ppl.evaluation.products.figure import NEEDED, Figure, can_draw, looking
from cordial_ppl.evaluation.sweep.methods import label
from cordial_ppl.tables import replacing, write_table

Record = dict[str, Any]
"""A row by the names of its columns."""

NOTHING = "–"
"""Stands in a table for readers where there is no number."""


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
    table: pl.DataFrame
    shown: pl.DataFrame
    notes: tuple[str, ...] = ()
    draw: Callable[[], Figure] | None = None

    def markdown(self, pictured: bool = True) -> str:
        """Return the page: heading, caption, figure where it is pictured, table and notes."""
        figure = (f"![{self.title}]({self.name}.png)",) if self.draw and pictured else ()
        lines = [self.shown.columns, ["---"] * self.shown.width, *self.shown.rows()]
        table = "\n".join(f"| {' | '.join(map(_escaped, line))} |" for line in lines)
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
    """Lay a table out in two directions, for reading.

    Args:
        table: one row a result.
        down: columns whose cells begin a row; methods get the names that figures show.
        across: columns whose cells, joined, head a column.
        text: what stands where the two meet, of a row.
        names: further names of methods.
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


def number(value: float | None, form: str = ".3f") -> str:
    """Write a number for reading, or a dash where there is none."""
    return NOTHING if value is None or value != value else f"{value:{form}}"


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
        warn(f"figures are left out; they need {NEEDED}")
        draw = None
    figure: Any = draw() if draw else None
    endings = (".csv", ".md", *((".png", ".pdf") if figure else ()))
    paths = [as_path(folder, "write") / f"{product.name}{ending}" for ending in endings]
    with ExitStack() as stack:
        page, *pictures = [stack.enter_context(replacing(path)) for path in paths[1:]]
        page.write_text(product.markdown(figure is not None), "utf-8")
        for picture, path in zip(pictures, paths[2:], strict=True):
            with looking():
                # The same figure gives the same file.
                dated = {"CreationDate": None} if path.suffix == ".pdf" else None
                figure.savefig(picture, format=path.suffix.removeprefix("."), metadata=dated)
        write_table(paths[0], product.table.lazy())
    return paths


def _escaped(cell: Any) -> str:
    text = number(cell) if cell is None or isinstance(cell, float) else str(cell)
    return " ".join(text.replace("|", "\\|").split())
