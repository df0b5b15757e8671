"""Sampled scores, as G-Eval takes them, and hard ratings: JSON Lines or a table.

A row has `item_id` and a list of samples under `scores`, `samples` or `ratings`, or a single one
under `score`, `sample` or `rating`; then rows of one text are its samples.  Answers in words are
under `responses`, `answers`, `outputs` or `texts`, or, if the format is named (a table of texts to
rate looks alike), one a row under `response`, `answer`, `output` or `text`.  The first row tells
the field for all; an empty cell is an answer that names no option.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.formats.evidence import Answers, Record
from cordial_ppl.formats.rows import Row, json_rows, name_fields
from cordial_ppl.formats.wrapping import as_text
from cordial_ppl.tables.files import Columns, is_filled, read_columns

SCORES = ("score", "sample", "rating")
WORDS = ("response", "answer", "output", "text")
"""Fields of one sample: a score, an answer in words; with an s, of several."""

FIELDS = tuple(name + s for names in (SCORES, WORDS) for s in ("s", "") for name in names)
"""Where samples are looked for, in order."""

LISTED = re.compile(r"\s*-?\d+(?:\.\d+)?(?:\s*[;,|\s]\s*-?\d+(?:\.\d+)?)+\s*")
"""Numbers in a row, which are no answer: "5;5;4"."""

TABLES = (".csv", ".parquet")


def recognises(path: Path, first: Mapping[str, Any] | None) -> bool:
    """Say whether the first row of a file has samples."""
    del path
    if first is None or "item_id" not in first:
        return False
    field = _field(first)
    return field is not None and (field not in WORDS or _as_list(first[field]) is not None)


def holds_texts(first: Mapping[str, Any]) -> bool:
    """Say whether the first row of a file is flat and has words: a text to rate, or an answer."""
    flat = not any(isinstance(cell, Mapping | list) for cell in first.values())
    return flat and _field(first) in WORDS


def read(path: Path) -> Iterator[Record]:
    """Read samples: a record for each text, and one for each further label of it."""
    rows, first = _rows(path)
    field = _field(first.value)
    if field is None:
        raise InputError(
            f"{first.place} must have a list `scores`, `samples`, `ratings` or `responses`, or one "
            f"`score` or `rating`; found {name_fields(first.value)}."
        )
    together: dict[tuple[str | None, ...], Record] = {}
    labels: list[Record] = []
    for row in rows:
        texts, single = _samples(row, field)
        value = row.value
        record = Record(
            item_id=as_text(value.get("item_id")),
            evidence=Answers(texts),
            place=row.place,
            reader=as_text(value.get("reader")) or as_text(value.get("model")),
            task=as_text(value.get("task")),
            label=as_text(value.get("label")) or None,
        )
        key = record.item_id, record.reader, record.task
        if not single:
            yield record
        elif key not in together or key[0] is None:
            together[key if key[0] else (row.place,)] = record
        else:
            known = together[key]
            evidence = Answers([*known.evidence.texts, *texts])  # pyright: ignore
            together[key] = replace(known, evidence=evidence)
            labels.append(replace(record, evidence=None))
    yield from chain(together.values(), labels)


def first_row(columns: Columns) -> dict[str, Any]:
    """What the columns of a table hold: in each the first cell that is not empty."""
    found = {name: next(filter(is_filled, cells), None) for name, cells in columns.cells.items()}
    return {name: _plain(cell) for name, cell in found.items() if cell is not None}


def _rows(path: Path) -> tuple[Iterable[Row], Row]:
    """All rows, and what tells the field."""
    if path.suffix.lower() not in TABLES:
        rows = json_rows(path)
        first = next(rows)
        return chain([first], rows), first
    columns = read_columns(path)
    names = list(columns.cells)
    table = (
        Row(columns.where(place), dict(zip(names, map(_plain, cells), strict=True)))
        for place, cells in enumerate(zip(*columns.cells.values(), strict=True))
    )
    return table, Row("the table", first_row(columns))


def _field(first: Mapping[str, Any]) -> str | None:
    """Where the samples are: scores, empty or not, before words; then the one that is filled."""
    there = [name for name in FIELDS if name in first and not isinstance(first[name], Mapping)]
    scores = [name for name in there if name.removesuffix("s") in SCORES]
    found = scores or there
    return next((name for name in found if is_filled(first[name])), found[0] if found else None)


def _samples(row: Row, field: str) -> tuple[list[str], bool]:
    """The samples of a row, and whether it is one that stands alone."""
    if field not in row.value:
        raise InputError(
            f"{row.place} must have `{field}`, as the rows before; found {name_fields(row.value)}."
        )
    given = row.value[field]
    several = _as_list(given)
    known = [given] if several is None else several
    if not all(one is None or isinstance(one, str | int | float) for one in known):
        raise InputError(f"{row.place}: `{field}` must be numbers or texts; found {given!r:.60}.")
    if several is None and isinstance(given, str):
        bracket = given.lstrip().startswith("[") and field.endswith("s")
        if bracket or field not in WORDS and LISTED.fullmatch(given):
            raise InputError(
                f"{row.place}: `{field}` must be one answer or a list; found {given!r:.60}. "
                "Write lists as JSON: [5, 5, 4]."
            )
    # A sample that failed, or is empty, is one that names no option.
    return [as_text(one) or "" for one in known or [""]], several is None


def _as_list(given: Any) -> list[Any] | None:
    """The list that a field holds, also as text, for a CSV table has no lists; not "[[4]]"."""
    if isinstance(given, str) and re.match(r"\s*\[(?!\[)", given):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return None
    return given if isinstance(given, list) else None


def _plain(cell: Any) -> Any:
    return cell.item() if hasattr(cell, "item") else cell
