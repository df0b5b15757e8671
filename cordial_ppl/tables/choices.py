"""Choices: the rows of one reader or task, and columns that are named."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from cordial_ppl.errors import InputError, SettingNeeded, count, list_names, name_rows, quote
from cordial_ppl.tables.columns import is_reading, list_distinct, name_items, named
from cordial_ppl.tables.formats import read_columns
from cordial_ppl.tables.frame import Columns
from cordial_ppl.tables.roles import (
    PLACEHOLDER,
    RATINGS,
    explain_log,
    find_columns,
    find_id,
    holds_ratings,
    spell,
)

JOINED = "|"
"""Separator between the parts of an id that several columns make, as `cordial read` writes it."""


CHOICE = "COLUMN=NAME"
"""What is proposed where a column may name the judge of each row."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What to read from tables of readings and of labels.

    Attributes:
        options: The K options in the scale's order; by default the columns' order in the file. A
            column `rating` needs them.
        reader: The reader to take, where a file holds several; see `select`.
        task: The task to take, where a file holds several and a text is of more than one.
        id: Other names of the column `item_id`.
        rating: The column of hard ratings, one stated option per text; other columns are then no
            readings.
        reverse: Whether the reader's scale runs the other way than the labels': its first option
            is their last.
        rating_range: The worst and the best rating that are possible, if the labels have other
            options; see `read_ratings`.
        keep_form: Whether what is written of the table has its form; see `write_table`.
        round: How ratings and labels between options, such as averages, are rounded: "half-up",
            "nearest-even" or "split", which makes two labels of one; see `round_labels`.
        label: The column of labels, if it is not `label`; or one for each annotator, by default
            `label_<annotator>`.
        annotator: The column that names annotators; by default `annotator`, or else `user`.
        annotators: "each" for every label, "mean" or "median" for one per text.
        apart: Columns that are named for something else, such as groups, and are nothing else.
        per: The column that names the user, where the readings may have a row for each text and
            user; see `ReadingTable`.
    """

    options: Any = None
    reader: str | None = None
    task: str | None = None
    id: Sequence[str] = ()
    rating: str | None = None
    reverse: bool = False
    rating_range: Sequence[Any] | None = None
    keep_form: bool = False
    round: str | None = None
    label: Sequence[str] = ()
    annotator: str | None = None
    annotators: str = "each"
    apart: Sequence[str] = ()
    per: str | None = None


def open_columns(path: str | Path, choice: Choice, *, needed: bool = True) -> Columns:
    """Open a table, give the columns that are named their roles, and select the rows of a task.

    Args:
        path: As `read_columns` reads it.
        choice: What to read of it; no task is asked for where each text is of one task.
        needed: Whether the columns of the task and of the rating must be there.

    Raises:
        FileError: The file cannot be read.
        InputError: There is no such task.
        SettingNeeded: A column has another name, or texts are of several tasks.
    """
    how = {name: getattr(choice, name) for name in ("reverse", "rating_range", "keep_form")}
    columns = replace(read_columns(path), **how)
    task, rating = choice.task, choice.rating
    columns = replace(columns, apart=tuple(spell(columns, name) or name for name in choice.apart))
    columns = identify(columns, choice.id)
    if rating is not None and (needed or spell(columns, rating)):
        (column,) = find_columns(columns, [rating], "rating", RATINGS)
        columns = columns.rename(column, "rating")
        apart = {*columns.apart, *filter(is_reading, columns.schema)} - {"rating"}
        columns = replace(columns, apart=tuple(sorted(apart)))
    if task is not None:
        there = split_choice(columns, "task", task)[0] in columns.schema
        return select(columns, "task", task) if needed or there else columns
    if "task" not in columns.free:
        return columns
    pair = pl.struct(named("item_id"), named("task")).n_unique()
    pairs, items = columns.collect(pair.alias("pairs"), named("item_id").n_unique()).row(0)
    return columns if pairs == items else select(columns, "task", None)


def select(columns: Columns, field: str, chosen: str | None) -> Columns:
    """Select the rows of one reader or task.

    Args:
        columns: The table.
        field: Which column says so, "reader" or "task"; a table may lack it, or have it apart.
        chosen: The name; None where the table holds only one. Another column that names readers or
            tasks comes before it, "judge=gpt", or stands alone, "judge".

    Returns:
        The rows of that name.

    Raises:
        InputError: There is no such name, or no such column.
        SettingNeeded: There are several and none was chosen.
    """
    if chosen is None and field in columns.apart:
        return columns
    column, name = split_choice(columns, field, chosen)
    if column not in columns.schema:
        if name is None:
            return columns
        problem = f"{columns.path} has no column {field!r}, so {name!r} cannot be chosen"
        raise InputError(f"{problem}; found {columns.listed}. Use COLUMN=NAME for another column.")
    names = list_distinct(columns, column)
    prefix, noun = "" if column == field else f"{column}=", field.replace("reader", "judge")
    if name is None and len(names) > 1:
        problem = f"{columns.path} has {len(names)} {noun}s: {list_names(names)}."
        raise SettingNeeded(problem, "Choose one, for example", field, prefix + names[0])
    if name is not None and name not in names:
        raise InputError(f"{columns.path} has no {noun} {name!r}; found {list_names(names)}.")
    columns = columns.rename(column, field)
    return columns if name is None else columns.filter(named(field) == name)


def split_choice(columns: Columns, field: str, chosen: str | None) -> tuple[str, str | None]:
    """Split a choice into the column that names readers or tasks, and a name there.

    Args:
        columns: The table.
        field: The column by default.
        chosen: A name, "COLUMN=NAME", or another column of the table.

    Returns:
        The column, which need not be there, and the name; None where none was chosen.

    Raises:
        SettingNeeded: The column is named for something else, or holds ratings and no readers.
    """
    if chosen is None:
        return field, None
    name = chosen.strip()
    if field in columns.schema and name in list_distinct(columns, field):
        return field, name
    column, _, rest = (part.strip() for part in name.partition("="))
    if column not in columns.schema:
        return field, name
    if column in columns.apart:
        raise refuse_taken(columns, column, field)
    if field == "reader" and not rest and holds_ratings(columns, column):
        listed = list_names(list_distinct(columns, column))
        problem = f"{columns.path}: column {column!r} contains {listed}, not names of judges."
        raise SettingNeeded(problem, "If the column contains ratings, pass", "rating", column)
    return column, rest or None


def list_values(
    path: str | Path,
    field: str,
    task: str | None = None,
    chosen: Sequence[str] = (),
    apart: Sequence[str] = (),
) -> dict[str, str]:
    """List the names in a column of a table, such as `reader`, in the order of the file.

    Args:
        path: The table.
        field: The column.
        task: The task whose rows count; by default all do.
        chosen: What is chosen among the names, which may say that another column has them.
        apart: Columns that are named for something else.

    Returns:
        The names, each with what `select` takes to choose it; none if there is no such column.

    Raises:
        FileError: The file cannot be read or is not what its ending says.
        InputError: There is no such task.
    """
    columns = read_columns(path)
    if task is not None:
        columns = select(columns, "task", task)
    column = next((split_choice(columns, field, name)[0] for name in chosen), field)
    free = column in columns.schema and column not in (spell(columns, name) for name in apart)
    names = list_distinct(columns, column) if free else []
    return {name: name if column == field else f"{column}={name}" for name in names}


def refuse_taken(columns: Columns, name: str, setting: str) -> SettingNeeded:
    """Make the error of a column that is named for something else, such as ids or labels."""
    problem = f"{columns.path}: column {name!r} is used for ids, labels, annotators or groups."
    value = (PLACEHOLDER, "...") if setting == "readers" else PLACEHOLDER
    return SettingNeeded(problem, "Name a different column", setting, value)


def identify(columns: Columns, id: Sequence[str] = ()) -> Columns:
    """Name the column of the texts' ids `item_id`.

    Args:
        columns: The table.
        id: Names that the column may have; the first that the table has, perhaps with other
            capitals and blanks. Several with commas between make an id together,
            "question,model". A table without any has `item_id`.

    Raises:
        SettingNeeded: There is no such column; the message offers one with a similar name.
    """
    for names in id:
        parts = [spell(columns, name) for name in names.split(",")]
        if names not in columns.schema and len(parts) > 1 and None not in parts:
            joined = pl.struct(*(named(name) for name in parts if name)).map_elements(
                lambda row: join_parts([*row.values()]) if any(row.values()) else "", pl.String
            )
            single = {"item_id", "input_item_id"} & columns.schema.keys() == {"item_id"}
            kept = [pl.col("item_id").alias("input_item_id")] * single
            frame = columns.frame.with_columns(*kept, item_id=joined)
            return replace(columns, frame=frame, apart=(*columns.apart, *filter(None, parts)))
    column = next(filter(None, (spell(columns, name) for name in id)), "item_id")
    if column not in columns.schema:
        names = " or ".join(map(repr, id or ("item_id",)))
        why = f"{columns.path} has no column {names}; found {columns.listed}.{explain_log(columns)}"
        raise SettingNeeded(why, "Name the column", "id", find_id(columns))
    return columns.rename(column, "item_id")


def join_parts(parts: Sequence[str], *, always: bool = False) -> str:
    """Make one name of several, "q1|gpt"; a backslash marks a separator that is inside one.

    Different parts make different names: one that is missing is "", and keeps its place.

    Args:
        parts: The parts.
        always: Whether a separator is marked inside a single part too, as where there may be more.
    """
    if always or len(parts) > 1:
        parts = [part.replace("\\", r"\\").replace(JOINED, "\\" + JOINED) for part in parts]
    return JOINED.join(parts)


def key_rows(items: list[str], users: Sequence[str] | None) -> list[str]:
    """Name rows by their text; or by text and user, where a text has a row for each user."""
    return items if users is None else [*map(join_parts, zip(items, users, strict=True))]


def read_items(
    columns: Columns, *, of_readers: bool = False, users: Sequence[str] | None = None
) -> list[str]:
    """List the ids of the texts, as `name_items` reads them.

    Args:
        columns: The table.
        of_readers: Whether a column may say which reader a row is of.
        users: The user of each row, where a text may have a row for each.

    Raises:
        InputError: An id is missing, or occurs twice.
        SettingNeeded: An id occurs twice, perhaps with readings by several readers.
    """
    items = name_items(columns)
    keys = pl.Series(key_rows(items.to_list(), users), dtype=pl.String)
    repeated = keys.filter(keys.is_duplicated()).unique(maintain_order=True)
    if not len(repeated):
        return items.to_list()
    rows = (keys == repeated[0]).arg_true().to_list()
    more = f" ({count(len(repeated) - 1, 'more repeated id')})." if len(repeated) > 1 else "."
    problem = (
        f"{columns.path}: each {columns.origin.get('item_id', 'item_id')} must be unique"
        f"{' per user' if users else ''}; {quote(repeated[0])} is in "
        f"{name_rows(rows, columns.where)}{more}"
    )
    if of_readers and users is None and "reader" not in columns.schema:
        advice = "Remove the repeated rows or, if a column names the judge, choose one judge"
        raise SettingNeeded(problem, advice, "reader", CHOICE)
    raise InputError(f"{problem} Remove the repeated rows.")
