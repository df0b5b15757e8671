"""Tables of text."""

from collections.abc import Sequence

from cordial_ppl.errors import escape


def align(*rows: Sequence[str]) -> list[str]:
    """Return lines of a table, the first column to the left and the others to the right.

    The end of a line inside a cell is written as such, so that no cell can pass for a row.
    """
    table = [[escape(cell).replace("\n", r"\n") for cell in row] for row in rows]
    first, *widths = (max(map(len, column)) for column in zip(*table, strict=True))
    return [
        "  ".join([name.ljust(first), *map(str.rjust, cells, widths)]).rstrip()
        for name, *cells in table
    ]
