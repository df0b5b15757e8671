"""What other columns say of the texts: groups, such as systems, topics and users."""

from collections.abc import Sequence

from cordial_ppl.tables.columns import FIXED, as_name, as_names, filled, is_reading
from cordial_ppl.tables.frame import ROW, Columns
from cordial_ppl.tables.roles import find_columns


def read_groups(columns: Columns, by: str, setting: str = "by") -> list[str]:
    """Read the group of every text.

    Args:
        columns: The table.
        by: The column that names groups.
        setting: The setting that names the column, for the message.

    Returns:
        One name a row.

    Raises:
        InputError: A row has no group.
        SettingNeeded: There is no such column.
    """
    words = ("system", "model", "group") if setting == "by" else ()
    (by,) = find_columns(columns, [by], setting, words)
    remedy = "Fill in every row, or remove rows without a value."
    return [*map(as_name, filled(columns, by, remedy))]


def list_cells(columns: Columns, rows: Sequence[int]) -> dict[str, list[str]]:
    """List the cells of every column without a fixed meaning, by its name; an empty one is "".

    Args:
        columns: The table.
        rows: Its rows that are wanted.
    """
    names = [name for name in columns.free if name not in FIXED and not is_reading(name)]
    wanted = columns.collect(ROW, *names)[list(rows)].drop(ROW)
    return {cells.name: as_names(cells).to_list() for cells in wanted}
