"""Sampled scores, as G-Eval takes them, and hard ratings: JSON Lines or a table.

A row has `item_id` and a list of samples under `scores`, `samples` or `ratings`, or a single one
under `score`, `sample` or `rating`; then rows of one text are its samples. Answers in words are
under `responses`, `answers`, `outputs` or `texts`, or, if the format is named (a table of texts to
rate looks alike), one a row under `response`, `answer`, `output` or `text`. The first row tells
the field for all; an empty cell is an answer that names no option.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.formats.evidence import Answer
from cordial_ppl.formats.format import Format
from cordial_ppl.formats.records import Record, as_text, first_of
from cordial_ppl.formats.rows import Row, at, first_row, read_rows
from cordial_ppl.tables.files import is_filled

SCORES = ("score", "sample", "rating")
WORDS = ("response", "answer", "output", "text")
"""Fields of one sample: a score, an answer in words; with an s, of several."""

FIELDS = tuple(name + s for names in (SCORES, WORDS) for s in ("s", "") for name in names)
"""Where samples are looked for, in order."""

LISTED = re.compile(r"\s*-?\d+(?:\.\d+)?(?:\s*[;,|\s]\s*-?\d+(?:\.\d+)?)+\s*")
"""Numbers in a row, which are no answer: "5;5;4"."""


def holds_texts(first: Mapping[str, Any]) -> bool:
    """Say whether the first row of a file is flat and has words: a text to rate, or an answer."""
    flat = not any(isinstance(cell, Mapping | list) for cell in first.values())
    return flat and _field(first) in WORDS


def _knows(first: Mapping[str, Any]) -> bool:
    field = _field(first) if "item_id" in first else None
    return field is not None and (field not in WORDS or _as_list(first[field]) is not None)


def _read(path: Path) -> Iterator[Record]:
    """Read samples: a record for each text, and one for each further label of it."""
    first = first_row(path)
    field = first and _field(first.value)
    if first is None or field is None:
        raise InputError(
            "expected a list `scores`, `samples`, `ratings` or `responses`, or one `score` or "
            f"`rating`; found {first.fields if first else 'neither JSON nor a table'}."
        )
    together: dict[Any, Record] = {}
    labels: list[Record] = []
    for row in read_rows(path):
        with at(row.place):
            answers, single = _samples(row, field)
        value = row.value
        record = Record(
            row.place,
            as_text(value.get("item_id")),
            answers,
            reader=as_text(first_of(value, ("reader", "model"))),
            task=as_text(value.get("task")),
            label=as_text(value.get("label")),
        )
        if not single:
            yield record
            continue
        key = record.item_id or (row.place,), record.reader, record.task
        known = together.setdefault(key, record)
        if known is not record:
            assert isinstance(known.evidence, list)
            known.evidence.extend(answers)
            labels.append(replace(record, evidence=None))
    yield from together.values()
    yield from labels


def _field(first: Mapping[str, Any]) -> str | None:
    """Where the samples are: scores, empty or not, before words; then the one that is filled."""
    there = [name for name in FIELDS if name in first and not isinstance(first[name], Mapping)]
    found = [name for name in there if name.removesuffix("s") in SCORES] or there
    return next((name for name in found if is_filled(first[name])), found[0] if found else None)


def _samples(row: Row, field: str) -> tuple[list[Answer], bool]:
    """The samples of a row, and whether it is one that stands alone."""
    if field not in row.value:
        raise InputError(f"expected `{field}`, as in the rows before; found {row.fields}.")
    given = row.value[field]
    several = _as_list(given)
    if several is None and isinstance(given, str):
        bracket = given.lstrip().startswith("[") and field.endswith("s")
        if bracket or field not in WORDS and LISTED.fullmatch(given):
            raise InputError(
                f"`{field}` must be one answer or a list; found {given!r:.60}. Write lists as "
                "JSON: [5, 5, 4]."
            )
    samples = [given] if several is None else several
    if not all(one is None or isinstance(one, str | int | float) for one in samples):
        raise InputError(f"`{field}` must be numbers or texts; found {given!r:.60}.")
    # A sample that failed, or is empty, is one that names no option.
    return [Answer(as_text(one) or "") for one in samples or [""]], several is None


def _as_list(given: Any) -> list[Any] | None:
    """The list that a field holds, also as text, for a CSV table has no lists; not "[[4]]"."""
    if isinstance(given, str) and re.match(r"\s*\[(?!\[)", given):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return None
    return given if isinstance(given, list) else None


FORMAT = Format("samples", "sampled scores and hard ratings, JSON Lines or a table", _read, _knows)
