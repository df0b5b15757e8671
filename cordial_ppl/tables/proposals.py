"""Proposals: what a table's columns may be, by their names and cells, where nobody has said it.

A refusal proposes all of a command's settings at once, as far as the tables tell them.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from itertools import chain, islice
from typing import Any

import polars as pl

from cordial_ppl.data.numerals import parse_number
from cordial_ppl.data.ratings import WIDEST
from cordial_ppl.errors import InputError, SettingNeeded, list_names
from cordial_ppl.tables.columns import BLANK, FIXED, is_reading, list_distinct, named
from cordial_ppl.tables.frame import Columns

IDS = (
    *("item_id", "text_id", "question_id", "example_id", "instance_id", "sample_id", "doc_id"),
    *("custom_id", "prompt_id", "trace_id", "run_id", "uid", "uuid", "qid", "id", "idx", "index"),
    *("key", "sample", "item", "example", "name", "instruction", "question", "prompt", "input"),
)
"""Names of columns and fields that name a text, the likeliest first."""

RATINGS = ("rating", "score", "stars", "grade", "points", "mark", "verdict", "judgment")
"""Names of columns that may hold a reader's ratings, the likeliest first."""

LARGEST = 100
"""Largest rating that is recognised: years and ids are none."""

READERS = ("judge", "model", "rater", "grader", "evaluator", "llm", "prompt")
"""Names of columns that may name readers, the likeliest first."""

PERSONAL = ("label", "human", "gold", "expert")
"""How columns of people's labels begin, which are no reader's ratings."""

OTHERS = {*FIXED, "id", "index", "annotator", "user", "length"} - {"rating"}
"""Columns that hold other numbers."""

LOOKED_AT = 100
"""Columns, at most, whose cells are looked at for a proposal."""

TRIED = ("id", "rating", "readers", "label", "annotator", "options", "round", "reader")
"""Settings whose proposals are tried, for what is asked for then."""

UNKNOWN = ("COLUMN", "...")
"""What stands in a proposal for what the table does not tell."""


def nearest(name: str, names: Iterable[str], words: Sequence[str] = ()) -> str | None:
    """Find the column or field with the most similar name.

    Args:
        name: The name.
        names: The names there are; one may be written in another way or end in ".name".
        words: Other words for the name, the likeliest first.

    Returns:
        The likeliest; None if none is near.
    """

    def bare(text: str) -> str:
        return re.sub(r"[\W_]", "", text).casefold()

    names = [*names]
    folded = {bare(candidate): candidate for candidate in reversed(names)}
    for word in map(bare, (name, *words)):
        if word in folded:
            return folded[word]
    inside = (part for part in names if part.casefold().endswith(f".{name.casefold()}"))
    # A word of the name: "Human Score", "SegmentID".
    parts = {one: re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+", one) for one in names}
    spelt = (one for word in words for one in names if word in map(str.casefold, parts[one]))
    close = (get_close_matches(bare(word), folded, 1, 0.7) for word in (name, *words))
    likely = (folded[match[0]] for match in close if match)
    return next(chain(inside, spelt, likely), None)


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
    if None not in spelt:
        return [name for name in spelt if name is not None]
    missing = names[spelt.index(None)]
    free = [name for name in columns.schema if name not in (*columns.apart, "item_id", *spelt)]
    # A table of ids and one other column is of labels.
    only = free[0] if setting == "label" and len(free) == 1 else UNKNOWN[0]
    match = nearest(missing, free, words) or only
    offered = tuple(match if name == missing else name for name in names)
    problem = f"{columns.path} has no column {missing!r}; found {columns.listed}."
    raise SettingNeeded(problem, "Name the column", setting, offered if len(offered) > 1 else match)


def find_id(columns: Columns) -> str:
    """Find the column that may name texts: by its name, or because its cells differ most."""
    sizes = (named(name).n_unique() for name in _first(columns.schema))
    rows, *sizes = columns.collect(pl.len(), *sizes).row(0)
    distinct = dict(zip(_first(columns.schema), sizes, strict=True))
    # Some tens of readers may have read each text.
    names = [n for n, size in distinct.items() if size * WIDEST > rows and not is_reading(n)]
    names.sort(key=lambda name: -distinct[name])
    unique = [n for n in names if distinct[n] == rows]
    likely = nearest("item_id", unique, IDS) or nearest("item_id", names, IDS)
    telling = (n for n in names if distinct[n] == rows or find_reader(columns, n))
    return likely or next((n for n in telling if not _decimal(columns, n)), UNKNOWN[0])


def find_reader(columns: Columns, item: str = "item_id") -> str | None:
    """Find the column of readers, by its name, that tells the rows of a text apart, if any does."""
    free = _first(name for name in columns.schema if name != item)
    names = [name for name in free if not holds_ratings(columns, name)]
    name = nearest("reader", names, READERS)
    pairs = pl.struct(named(item), named(name or item))
    return name if name and columns.collect(pairs.is_unique().all()).item() else None


def _first(names: Iterable[str]) -> list[str]:
    return [*islice(names, LOOKED_AT)]


def _decimal(columns: Columns, name: str) -> bool:
    """Tell a column of numbers that are not all whole."""
    numbers = [*map(parse_number, list_distinct(columns, name))]
    return None not in numbers and any(number % 1 for number in numbers if number is not None)


def holds_ratings(columns: Columns, name: str) -> bool:
    """Tell a column whose cells may be ratings: few whole numbers; averages, where it says so."""
    cells = [cell for cell in list_distinct(columns, name) if cell.casefold() not in BLANK]
    numbers = [number for number in map(parse_number, cells) if number is not None]
    if not numbers or len(numbers) < len(cells):
        return False
    if all(number.is_integer() for number in numbers):
        return len(numbers) <= WIDEST and max(map(abs, numbers)) <= LARGEST
    return 1 < max(numbers) - min(numbers) < WIDEST and nearest("", [name], RATINGS) is not None


def list_ratings(columns: Columns) -> list[str]:
    """List the columns that look like ratings: that of the likeliest name, or all without one."""
    free = [name for name in columns.schema if name not in (*columns.apart, *OTHERS)]
    free = [name for name in free if not name.casefold().startswith(PERSONAL)]
    free = _first(name for name in free if not is_reading(name))
    names = [name for name in free if holds_ratings(columns, name)]
    likely = nearest("rating", names, RATINGS)
    return names if likely is None else [likely]


def propose_ratings(problem: str, names: Sequence[str]) -> SettingNeeded:
    """Make the error of a table whose readings are a column of ratings, one of some if known."""
    if not names:
        advice = "If a column is the judge's rating, one stated option a text, name it"
        return SettingNeeded(problem, advice, "rating", UNKNOWN[0])
    one = repr(names[0]) if len(names) == 1 else f"one of {list_names(names)}"
    advice = f"If {one} is the judge's rating, one stated option per text, name it"
    return SettingNeeded(problem, advice, "rating", names[0])


def proposing_all[**P, T](function: Callable[P, T]) -> Callable[P, T]:
    """Make a function that reads tables say at once what it would ask for one by one.

    Settings that it asks for are tried, and what is then asked for is added to the message.
    """

    @wraps(function)
    def run(*args: P.args, **settings: P.kwargs) -> T:
        try:
            return function(*args, **settings)
        except SettingNeeded as error:
            further = _ask_on(run, args, settings, error)
            if not further:
                raise
            advice = error.advice
            if advice.startswith("Name the column"):
                advice = "If these are the columns, name them"
            if "options" in dict(further):
                advice += ", and all options that were possible"
            named = {name for name, _ in further} - {"id"}
            kept = [each for each in error.needed if each[0] not in named]
            (setting, value), *also = *kept, *further
            raise SettingNeeded(error.problem, advice, setting, value, tuple(also)) from error

    return run


def _ask_on(
    function: Callable[..., Any], args: Any, settings: dict[str, Any], error: SettingNeeded
) -> tuple[tuple[str, Any], ...]:
    """Try the settings that an error proposes; return what is asked for then."""
    taken = signature(function).parameters
    free = any(each.kind is Parameter.VAR_KEYWORD for each in taken.values())
    tried: dict[str, Any] = dict(settings)
    for setting, value in error.needed:
        words = value if isinstance(value, tuple) else (value,)
        unknown = any(word in UNKNOWN for word in words)
        ids = tuple(tried.get("id", ()))
        again = value in ids if setting == "id" else tried.get(setting)
        if unknown or again or setting not in TRIED or not (free or setting in taken):
            return ()
        value = words if setting in ("id", "label") else value
        tried[setting] = (*ids, *words) if setting == "id" else value
        if "reader" in tried and setting == "rating":
            tried["reader"] = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*args, **tried)
    except SettingNeeded as further:
        return further.needed
    except InputError:
        pass
    return ()
