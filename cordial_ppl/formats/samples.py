"""Sampled scores, as G-Eval takes them, and hard ratings: JSON Lines or a table.

A row has `item_id` and a list of samples under `scores` (or `samples`, `ratings`, `responses`,
`answers`, `outputs`, `texts`), numbers or texts; or a single one under `score`, `rating`, ..., and
then rows of one text are its samples.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.formats.evidence import Answers, Record
from cordial_ppl.formats.rows import Row, json_rows
from cordial_ppl.formats.wrapping import as_text
from cordial_ppl.tables.files import Columns, is_filled, read_columns

SINGLE = ("score", "sample", "rating", "response", "answer", "output", "text")
"""Fields of one sample; with an s, of several."""

TABLES = (".csv", ".parquet")


def recognises(path: Path, first: Mapping[str, Any] | None) -> bool:
    """Say whether the first row of a file has samples."""
    del path
    return first is not None and "item_id" in first and _field(first) is not None


def read(path: Path) -> Iterator[Record]:
    """Read samples.

    Args:
        path: JSON Lines, a JSON list, or a table (.csv, .parquet).

    Yields:
        A record a text.

    Raises:
        FileError: The file cannot be read or is not what its ending says.
        InputError: A row has no samples, or no text.
    """
    rows = _table_rows(read_columns(path)) if path.suffix.lower() in TABLES else json_rows(path)
    together: dict[tuple[str | None, ...], Record] = {}
    for row in rows:
        record, single = _record(row)
        if not single:
            yield record
            continue
        key = record.item_id, record.reader, record.task
        known = together.get(key)
        if known is None or key[0] is None:
            together[key if key[0] else (row.place,)] = record
        else:
            texts = [*known.evidence.texts, *record.evidence.texts]  # pyright: ignore
            together[key] = replace(known, evidence=Answers(texts))
    yield from together.values()


def _field(value: Mapping[str, Any]) -> str | None:
    fields = (*(f"{name}s" for name in SINGLE), *SINGLE)
    return next((name for name in fields if _is_filled(value.get(name))), None)


def _is_filled(value: object) -> bool:
    return is_filled(value) and not isinstance(value, Mapping)


def _record(row: Row) -> tuple[Record, bool]:
    value, field = row.value, _field(row.value)
    if field is None:
        raise InputError(
            f"{row.place} must have a list `scores`, `samples`, `ratings` or `responses`, or one "
            f"`score` or `rating`; found {', '.join(list(value)[:8])}."
        )
    given = value[field]
    texts = given if isinstance(given, list) else [given]
    known = [text for text in texts if text is not None]
    if not all(isinstance(text, str | int | float) for text in known):
        raise InputError(f"{row.place}: `{field}` must be numbers or texts; found {given!r:.60}.")
    record = Record(
        item_id=as_text(value.get("item_id")),
        # A sample that failed is one that names no option.
        evidence=Answers([as_text(text) or "" for text in texts]),
        place=row.place,
        reader=as_text(value.get("reader")) or as_text(value.get("model")),
        task=as_text(value.get("task")),
        label=as_text(value.get("label")) or None,
    )
    return record, not isinstance(given, list)


def _table_rows(columns: Columns) -> Iterator[Row]:
    for place in range(len(columns)):
        cells = {name: cells[place] for name, cells in columns.cells.items()}
        yield Row(columns.where(place), {name: _plain(cell) for name, cell in cells.items()})


def _plain(cell: Any) -> Any:
    return cell.item() if hasattr(cell, "item") else cell
