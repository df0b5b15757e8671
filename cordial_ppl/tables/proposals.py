"""Proposals: the columns that a setting may mean, by their names.

A message proposes a column only where its cells are what the setting needs, and names none if two
are as likely.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import polars as pl

from cordial_ppl.data.numerals import parse_number
from cordial_ppl.data.ratings import WIDEST
from cordial_ppl.errors import SettingNeeded
from cordial_ppl.tables.columns import BLANK, FIXED, is_reading, list_distinct, named
from cordial_ppl.tables.frame import Columns

IDS = ("item_id", "text_id", "id", "uid", "uuid", "qid", "index", "key", "item", "name", "question")
"""Names of columns that name a text, the likeliest first."""

RATINGS = ("rating", "score", "stars", "grade", "points", "mark", "verdict", "judgment")
"""Names of columns that may hold a reader's ratings, the likeliest first."""

LARGEST = 100
"""Largest rating that is recognised: years and ids are none."""

USERS = ("author", "annotator", "rater", "worker", "person", "who")
"""Names of columns of readings that may name the user whose label is predicted."""

PERSONAL = ("label", "human", "gold", "expert")
"""How columns of people's labels begin, which are no reader's ratings."""

UNKNOWN = "COLUMN"
"""What stands in a proposal for what the table does not tell."""


def nearest(name: str, names: Iterable[str], words: Sequence[str] = ()) -> str | None:
    """Find the column or field with the most similar name.

    Args:
        name: The name.
        names: The names there are; one may be written in another way.
        words: Other words for the name, the likeliest first.

    Returns:
        The likeliest; None if none is near.
    """
    names = [*names]
    folded = {_fold(candidate): candidate for candidate in reversed(names)}
    for word in map(_fold, (name, *words)):
        if word in folded:
            return folded[word]
    likely = next((one for word in words for one in names if word in _split(one)), None)
    close = (get_close_matches(_fold(word), folded, 1, 0.7) for word in (name, *words))
    return likely or next((folded[match[0]] for match in close if match), None)


def _fold(name: str) -> str:
    """Return the letters and digits of a name, without capitals."""
    return re.sub(r"[\W_]", "", name).casefold()


def _split(name: str) -> set[str]:
    """Return the words of a name: "Human Score", "SegmentID"."""
    return {*map(str.casefold, re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+", name))}


def spell(columns: Columns, name: str) -> str | None:
    """Find the column of a name, or the only one that differs in capitals and blanks alone."""
    names = {name: here for here, name in columns.origin.items()}
    name = names.get(name.strip(), name.strip())
    folded = name.casefold().split()
    matches = [column for column in columns.schema if column.casefold().split() == folded]
    return name if name in matches else matches[0] if len(matches) == 1 else None


def find_columns(
    columns: Columns, names: Sequence[str], setting: str, words: Sequence[str] = ()
) -> list[str]:
    """Find columns that a setting names, whatever their capitals and blanks.

    Args:
        columns: The table.
        names: What the setting says.
        setting: The setting.
        words: Other names that such columns may have.

    Raises:
        SettingNeeded: There is none of a name; the message offers one with a similar name.
    """
    spelt = [spell(columns, name) for name in names]
    absent = [name for name, here in zip(names, spelt, strict=True) if here is None]
    if not absent:
        return [name for name in spelt if name is not None]
    fixed = FIXED if setting in ("user", "annotator", "readers") else ("item_id",)
    free = [name for name in columns.schema if name not in (*columns.apart, *fixed, *spelt)]
    # A table of ids and one other column is of labels.
    only = free[0] if setting == "label" and len(free) == 1 else UNKNOWN
    match = nearest(absent[0], free, words) or only
    match = match if match != UNKNOWN and _suits(columns, match, setting) else UNKNOWN
    offered = tuple(match if name == absent[0] else name for name in names)
    problem = f"{columns.path} has no column {absent[0]!r}; found {columns.listed}."
    raise SettingNeeded(problem, "Name the column", setting, offered if len(offered) > 1 else match)


def _suits(columns: Columns, name: str, setting: str) -> bool:
    """Tell a column whose cells may be what a setting needs: ratings, labels, names of groups."""
    if setting in ("rating", "readers"):
        return holds_ratings(columns, name)
    cells = [cell for cell in list_distinct(columns, name) if cell.casefold() not in BLANK]
    return 0 < len(cells) <= (WIDEST if setting == "label" else len(columns) - 1)


def find_id(columns: Columns) -> str:
    """Find the column that names texts: "Item ID", or a likely name that tells all rows apart."""
    names = [name for name in columns.schema if not is_reading(name)]
    rows, *sizes = columns.collect(pl.len(), *(named(name).n_unique() for name in names)).row(0)
    unique = [name for name, size in zip(names, sizes, strict=True) if size == rows]
    spelt = next((name for name in names if _fold(name) == "itemid"), None)
    return spelt or nearest("item_id", unique, IDS) or UNKNOWN


def holds_ratings(columns: Columns, name: str) -> bool:
    """Tell a column whose cells may be ratings: few whole numbers."""
    cells = [cell for cell in list_distinct(columns, name) if cell.casefold() not in BLANK]
    numbers = [number for number in map(parse_number, cells) if number is not None]
    whole = all(number.is_integer() and abs(number) <= LARGEST for number in numbers)
    return 0 < len(numbers) == len(cells) <= WIDEST and whole


def propose_ratings(problem: str, columns: Columns) -> SettingNeeded:
    """Make the error of a table without readings, which may have a column of ratings."""
    free = [name for name in columns.schema if name not in (*columns.apart, *FIXED)]
    likely = [name for name in free if _split(name) & {*RATINGS} and not _split(name) & {*PERSONAL}]
    rated = [name for name in likely if holds_ratings(columns, name)]
    advice = "If a column is the judge's rating, one stated option per text, name it"
    value = rated[0] if len(likely) == len(rated) == 1 else UNKNOWN
    return SettingNeeded(problem, advice, "rating", value)
