"""Which rows of a table are taken, and which columns are meant by other names."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain

import polars as pl

from cordial_ppl.errors import InputError, SettingNeeded, list_names
from cordial_ppl.tables.columns import is_reading, list_distinct, named
from cordial_ppl.tables.frame import Columns

IDS = (
    *("item_id", "text_id", "question_id", "example_id", "instance_id", "sample_id", "doc_id"),
    *("custom_id", "prompt_id", "trace_id", "run_id", "uid", "uuid", "qid", "id", "idx", "index"),
    *("key", "sample", "item", "example", "name", "instruction", "question", "prompt", "input"),
)
"""Names of columns and fields that name a text, the likeliest first."""

JOINED = "|"
"""What stands between the parts of an id that several columns make, as `cordial read` writes it."""


def select(columns: Columns, field: str, chosen: str | None) -> Columns:
    """Select the rows of one reader or task.

    Args:
        columns: The table.
        field: Which column says so, "reader" or "task"; a table may lack it.
        chosen: The name; None where the table holds only one. Another column that names readers or
            tasks comes before it, "judge=gpt", or stands alone, "judge".

    Returns:
        The rows of that name.

    Raises:
        InputError: There is no such name, or no such column.
        SettingNeeded: There are several and none was chosen, or another column has the name.
    """
    column, name = split_choice(columns, field, chosen)
    if column not in columns.schema:
        if name is None:
            return columns
        for other in columns.schema:
            if not is_reading(other) and name in list_distinct(columns, other):
                problem = f"{columns.path} has no column {field!r}; {name!r} is in {other!r}."
                raise SettingNeeded(problem, "Name the column too", field, f"{other}={name}")
        raise InputError(
            f"{columns.path} has no column {field!r}; found {list_names(columns.schema)}. "
            f"Choose no {field} if it is of one alone, or name another column, COLUMN=NAME."
        )
    names = list_distinct(columns, column)
    prefix = "" if column == field else f"{column}="
    if name is None and len(names) > 1:
        problem = f"{columns.path} holds {len(names)} {field}s: {list_names(names)}."
        raise SettingNeeded(problem, "Choose one, for example", field, prefix + names[0])
    if name is not None and name not in names:
        raise InputError(f"{columns.path} has no {field} {name!r}; found {list_names(names)}.")
    if column != field:
        columns = columns.rename(column, field)
    if name is None:
        return columns
    return replace(columns, masks=(*columns.masks, named(field) == name))


def select_both(columns: Columns, task: str | None, reader: str | None) -> Columns:
    """Select the rows of one task and one reader, as `select` does; one error asks for both."""
    try:
        chosen = select(columns, "task", task)
    except SettingNeeded as error:
        try:
            select(select(columns, "task", str(error.value)), "reader", reader)
        except SettingNeeded as other:
            more = other.problem.replace(f"{columns.path} holds", "It holds")
            problem, advice = f"{error.problem} {more}", "Choose one of each, for example"
            raise SettingNeeded(problem, advice, *error.needed[0], other.needed) from error
        raise
    return select(chosen, "reader", reader)


def split_choice(columns: Columns, field: str, chosen: str | None) -> tuple[str, str | None]:
    """Split what was chosen into the column that names readers or tasks, and a name there.

    Args:
        columns: The table.
        field: The column by default.
        chosen: A name, "COLUMN=NAME", or another column of the table.

    Returns:
        The column, which need not be there, and the name; None where none was chosen.
    """
    if chosen is None:
        return field, None
    name = chosen.strip()
    if field in columns.schema and name in list_distinct(columns, field):
        return field, name
    column, _, rest = (part.strip() for part in name.partition("="))
    return (column, rest or None) if column in columns.schema else (field, name)


def identify(columns: Columns, id: Sequence[str] = ()) -> Columns:
    """Name the column of the texts' ids `item_id`.

    Args:
        columns: The table.
        id: Names that the column may have; the first that the table has, perhaps with other
            capitals and blanks. Several with commas between make an id together,
            "question,model". A table without any has `item_id`.

    Raises:
        SettingNeeded: There is no such column, and another may be meant.
        InputError: There is none, and no other looks like it.
    """
    for names in id:
        parts = [_spell(columns, name) for name in names.split(",")]
        if names not in columns.schema and len(parts) > 1 and None not in parts:
            joined = pl.struct(*(named(name) for name in parts if name)).map_elements(
                lambda row: join_parts([*row.values()]) if any(row.values()) else "", pl.String
            )
            return replace(columns, frame=columns.frame.with_columns(item_id=joined))
    found = next(filter(None, (_spell(columns, name) for name in id)), "item_id")
    if found not in columns.schema:
        raise lacking(columns, "item_id", "id", nearest("item_id", columns.schema, IDS))
    return columns.rename(found, "item_id") if found != "item_id" else columns


def _spell(columns: Columns, name: str) -> str | None:
    """The column of that name, or the only one that differs in capitals and blanks alone."""

    def bare(text: str) -> str:
        return " ".join(text.casefold().split())

    for same in (name, name.strip()):
        if same in columns.schema:
            return same
    alike = [column for column in columns.schema if bare(column) == bare(name)]
    return alike[0] if len(alike) == 1 else None


def lacking(
    columns: Columns, name: str, setting: str, meant: str | tuple[str, ...] | None
) -> InputError:
    """The error for a column that is missing, which offers the one that may be meant.

    Args:
        columns: The table.
        name: The column.
        setting: The setting that names another.
        meant: The column to offer, or several, if any.
    """
    problem = f"{columns.path} has no column {name!r}; found {list_names(columns.schema)}."
    if meant is None:
        return SettingNeeded(problem, "Name the column that it is", setting, "COLUMN")
    advice = "Name the column" if isinstance(meant, str) else "Name the column, or one a person"
    return SettingNeeded(problem, advice, setting, meant)


def nearest(
    name: str, known: Iterable[str], words: Sequence[str] = (), *, near: bool = True
) -> str | None:
    """Guess which column or field is meant by a name.

    Args:
        name: The name.
        known: The names that there are, of which one may be written in another way or end in
            ".name".
        words: Other words for it, the likeliest first.
        near: Whether it may also be called nearly so.

    Returns:
        The likeliest; None if none is near.
    """

    def bare(text: str) -> str:
        return re.sub(r"[\W_]", "", text).casefold()

    names = [*known]
    folded = {bare(one): one for one in reversed(names)}
    for word in map(bare, (name, *words)):
        if word in folded:
            return folded[word]
    inside = (one for one in names if one.casefold().endswith(f".{name.casefold()}"))
    like = (get_close_matches(bare(word), folded, 1, 0.7) for word in (name, *words) if near)
    return next(chain(inside, (folded[close[0]] for close in like if close)), None)


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
