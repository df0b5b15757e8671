"""From a file of judgments to readings and labels."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import FileError, InputError, as_path, count, list_names, naming, warn
from cordial_ppl.logs.collected import COLUMNS, Collected
from cordial_ppl.logs.evidence import CUT, FAILED, Answer, Record, as_text
from cordial_ppl.logs.fields import (
    LOOKED,
    PRESETS,
    Field,
    Fields,
    expand,
    fields_of,
    find_preset,
    first_cells,
    list_fields,
    name_all,
)
from cordial_ppl.logs.protocols import (
    FAILURE,
    MODEL,
    REASON,
    WRAPPED,
    find_lost,
    read_response,
    read_value,
    unwrap,
)
from cordial_ppl.logs.reader import collect
from cordial_ppl.logs.rows import Row, read_rows
from cordial_ppl.logs.wide import unstack
from cordial_ppl.tables import is_filled
from cordial_ppl.tables.choices import join_parts
from cordial_ppl.tables.columns import is_reading
from cordial_ppl.tables.provenance import name_prompt
from cordial_ppl.tables.roles import nearest

NAMES = ("reader", "task", "annotator", "model", "prompt")
ROLES = ("item", "answer", "label", *NAMES, "rows", "people", "where")
"""What fields may hold."""

OURS = {"reader": "reader", "model": "reader_model", "prompt": "reader_prompt"}
"""Fields of a judge in our own tables, where neither a preset nor the user names others."""

FALSE = ("false", "none", "null", "no", "0", "")

UNUSED = {*WRAPPED, "outer", "request", "modelInput", "item_id", "custom_id"}
"""Fields that are not passed on."""


def read(
    path: str | Path,
    *,
    form: str = "auto",
    options: str | Sequence | None = None,
    reverse: bool = False,
    spell: Mapping[str, str] | None = None,
    after: str | None = None,
    round: str | None = None,
    **fields: str | Sequence[str] | None,
) -> Collected:
    """Read readings and labels from a file: judgments, a tool's log, or any rows with named fields.

    A field is a key or a JMESPath expression. Pass several fields as a list or separated by commas.

    Args:
        path: JSON, JSON Lines, CSV, Excel or Parquet; or the log of a tool.
        form: The name of the preset; "auto" detects the preset from the file.
        options: The options in the scale's order; by default the options that the file names.
        reverse: Whether the options are listed from best to worst.
        spell: Further spellings of options: {"A": "1"} reads "A" as the option "1".
        after: A regular expression for the words that precede the answer in a text.
        round: How to round a number between two options, such as an average: "half-up",
            "nearest-even", or "split" between both.
        fields: The fields `item` (several are joined into one id), `answer` (each of several is a
            task), `reader`, `task`, `label` and `annotator`, the judge's `model` and `prompt`;
            `rows`, the field that contains the rows (each row sees its parent as `outer`); the
            conditions `where`, for rows to read, and `people`, for rows whose answers are labels.
            "field=name" chooses one reader or task, as "name" does in known formats.

    Returns:
        Readings and labels as tables (columns by name), `logits` [n, K], and `labelled`, the
        arguments of `fit`.

    Raises:
        FileError: The file cannot be read or has no known format; the message lists the fields.
        InputError: No row has a field, or a value cannot be read; the message names the row.
        SettingNeeded: The file does not name the options.
    """
    path = as_path(path)
    if unknown := fields.keys() - set(ROLES):
        raise InputError(f"unknown field {list_names(unknown)}; choose from {', '.join(ROLES)}.")
    if isinstance(options, str):
        (options,) = csv.reader([options], skipinitialspace=True)
    scale = None if options is None else Scale(tuple(map(str, options)))
    rows = unstack(read_rows(path), fields)
    first = list(islice(rows, LOOKED))
    if not first:
        raise FileError(f"{path} has no rows.")
    keys = {key for _, row in first for key in row}
    typed = {role: fields_of(names, keys) for role, names in fields.items() if names}
    preset = find_preset(path, first, form, typed)
    table = OURS | PRESETS.get(preset, {})
    usual = {role: fields_of(table[role]) for role in ROLES if role in table}
    cells = first_cells(first, *(usual | typed).get("rows", ()))
    chosen = _choose(cells, (usual | typed).get("answer", []), typed)
    records = _read_records(chain(first, rows), cells, usual | typed, typed)
    how = round or table.get("round")
    with naming(path):
        collected = collect(
            records, scale, chosen, reverse=reverse, spell=spell, before=after, round=how
        )
    collected.form = preset
    if table.get("repeats"):
        collected.notes.pop("pooled", None)
    for words in collected.doubts:
        warn(words)
    return collected


def _choose(
    cells: Mapping[str, Any], answers: Sequence[Field], typed: dict[str, list[Field]]
) -> dict[str, str]:
    """Take the reader or task that is a name, or FIELD=NAME, out of the fields; by role."""
    chosen: dict[str, str] = {}
    # Where several answers are tasks, their fields are names of tasks.
    tasks = name_all(answers) if len(answers) > 1 else []
    for role in typed.keys() & {"reader", "task"}:
        (one, *_) = typed[role]
        if one.text in tasks or not is_filled(one.find(cells)):
            name, _, chosen[role] = one.text.rpartition("=")
            del typed[role]
            typed |= {role: [Field(name)]} if name else {}
    return chosen


def _read_records(
    rows: Iterator[Row], cells: Mapping[str, Any], fields: Fields, typed: Fields
) -> Iterator[Record]:
    """Read a record for each answer and each label; fields that are typed must be in some row."""
    missing = [one for role in typed for one in typed[role] if role != "rows"]
    number, kept = -1, 0
    for number, (location, row) in enumerate(expand(rows, fields.get("rows", ()))):
        with naming(location):
            missing = [one for one in missing if not is_filled(one.subject.find(row))]
            if all(one.holds(row) for one in fields.get("where", ())):
                kept += 1
                yield from _read_row(location, row, number, fields)
    names = [one.text for one in (missing if number >= 0 else fields["rows"])]
    if names:
        near = nearest(names[0], list(cells))
        hint = f" Did you mean `{near}`?" if near else ""
        listed = " or ".join(f"`{name}`" for name in names)
        raise InputError(f"the rows have no {listed}; found {list_fields(cells)}.{hint}")
    if not kept:
        conditions = " and ".join(f"`{one.text}`" for one in fields.get("where", ()))
        raise InputError(f"no row meets the condition {conditions}.")


def _read_row(
    location: str, row: Mapping[str, Any], number: int, fields: Fields
) -> Iterator[Record]:
    """Read a row: its answers, then its labels."""

    def find(role: str) -> list[Any]:
        return [one.find(row) for one in fields.get(role, ())]

    reader, task, people, model, prompt = (next(iter(find(role)), None) for role in NAMES)
    prompt = prompt if isinstance(prompt, list | Mapping) else as_text(prompt) or ""
    made = {"reader_model": _name(model), "reader_prompt": name_prompt(prompt)}
    item = _join(*map(_name, find("item") or [row.get("item_id")])) or _name(row.get("key"))
    record = Record(
        location,
        item or str(number),
        numbered=not item,
        reader=_name(reader),
        task=_name(task),
        user=_name(people),
        cells=_list_extras(row, fields) | {name: text for name, text in made.items() if text},
    )
    answers, labels = find("answer"), find("label")
    tasks = name_all(fields["answer"]) if len(answers) > 1 else [None] * len(answers)
    parts = [replace(record, task=_join(record.task, name)) for name in tasks]
    if any(one.holds(row) for one in fields.get("people", ())):
        answers, labels = [], answers
    for part, one, value in zip(parts, fields.get("answer", ()), answers, strict=False):
        if is_filled(value) or len(answers) == 1:
            yield from _read_answer(part, row, one, value)
    if len(labels) != len(parts):
        users = (one.text if len(labels) > 1 else None for one in fields.get("label", ()))
        parts = [replace(record, user=record.user or user) for user in users]
    for part, value in zip(parts, labels, strict=False):
        yield from _read_label(part, value, people)


def _name(value: Any) -> str | None:
    """Take a name, or those of a list together; an `InputError` for an object."""
    if isinstance(value, list):
        return join_parts([_name(one) or "" for one in value], always=True) or None
    if isinstance(value, Mapping):
        raise InputError(f"names must be text or numbers, not objects ({list_names(value, 6)}).")
    return as_text(value)


def _join(*parts: str | None) -> str | None:
    """Join the parts of a name that are there."""
    return join_parts([part for part in parts if part]) or None


def _list_extras(value: Mapping[str, Any], fields: Fields) -> dict[str, Any]:
    """List the other cells of a row and of those around it; of a response its metadata's.

    A name that has a meaning in the table gets `input_` before it.
    """
    roles = ["answer", "label", *NAMES, *["item"] * (len(fields.get("item", ())) == 1)]
    texts = [one.text for role in roles for one in fields.get(role, ())]
    used = UNUSED.union(texts, *(re.findall(r"[\w.-]+", text) for text in texts))
    if "@" in texts and not any(isinstance(value.get(name), Mapping) for name in WRAPPED):
        value = {"metadata": value.get("metadata")}
    cells: dict[str, Any] = {}
    while isinstance(value, Mapping):
        cells = _list_cells(value, used) | cells
        value = value.get("outer", ())
    taken = {name for name in cells if name in (*COLUMNS[:3], "unread") or is_reading(name)}
    return {f"input_{name}" if name in taken else name: cell for name, cell in cells.items()}


def _list_cells(value: Mapping[str, Any], used: set[str], start: str = "") -> dict[str, Any]:
    """List the texts and numbers of an object and of those in it that are not used, by path."""
    cells: dict[str, Any] = {}
    others = {start + name: cell for name, cell in value.items() if start + name not in used}
    for path, cell in others.items():
        if isinstance(cell, Mapping) and start.count(".") < 3:
            cells |= _list_cells(cell, used, f"{path}.")
        elif isinstance(cell, str | int | float) and is_filled(cell):
            cells[path] = cell
    return cells


def _read_answer(
    record: Record, row: Mapping[str, Any], one: Field, value: Any
) -> Iterator[Record]:
    """Read the answer of a row, or several of a decision model."""
    body, answers = read_response(value) or ({}, {})
    # Of a text in a response, this holds the model, and whether the text was cut.
    start = one.text.partition(".")[0]
    root = row.get(start) if start in WRAPPED and not body else None
    texts = (read_response(root) or ({}, {}))[1].get("")
    if isinstance(texts, list) and [each.text for each in texts] == [value]:
        answers = {"": [texts[0]._replace(positions=())]}
    failure = None if answers else _find_failure(row) or ("no response" if value is row else None)
    # Of alternatives, as presets have them, none is there.
    name = "answer" if "||" in one.text else one.name
    answers = answers or {"": None if failure else read_value(value, name)}
    model = as_text(next(filter(None, map(MODEL.search, [body, *unwrap(root)])), None))
    cells = {"reader_model": model, **record.cells}
    record = replace(record, reader=record.reader or model, cells=cells)
    if not (body or texts or failure or isinstance(value, Mapping | list)):
        answers = {"": _end(answers[""], row, one)}
    for question, evidence in answers.items():
        evidence = evidence or [Answer(failure or f"no `{name}`", lost=FAILED)]
        yield replace(record, task=_join(record.task, question), evidence=evidence)


def _end(evidence: Any, row: Mapping[str, Any], one: Field) -> Any:
    """Return an answer as what stands beside its field makes it: cut, filtered or refused."""
    parts = one.text.split(".")
    if one.text in row or len(parts) < 2:
        start = ".".join([*parts[:-1], ""])
        around: list[Any] = [{name.removeprefix(start): cell for name, cell in row.items()}]
    else:
        around = [Field(".".join(parts[:n])).find(row) for n in range(len(parts) - 1, 0, -1)]
    reasons = (REASON.search(each) for each in around if isinstance(each, Mapping))
    reason = next(filter(None, reasons), None)
    if (lost := find_lost(reason)) is None:
        return evidence
    (answer,) = evidence or [Answer("")]
    if lost == CUT and re.fullmatch(r"\s*[\w.]+\s*", answer.text):
        # All that was asked for, unless another option begins so.
        return [answer._replace(ended=False)]
    return [Answer(str(reason) if lost == FAILED else answer.text, lost=lost)]


def _read_label(record: Record, value: Any, people: Any = None) -> Iterator[Record]:
    """Make a record of a label, or of each in a list, of people who may be in a list too."""
    labels = value if isinstance(value, list) else [value]
    users = people if isinstance(people, list) else [record.user] * len(labels)
    if len(users) != len(labels):
        sizes = f"{count(len(labels), 'label')} but {count(len(users), 'annotator')}"
        raise InputError(f"found {sizes}. Name one annotator per label.")
    for number, (one, user) in enumerate(zip(labels, users, strict=True), 1):
        user = user or (f"person {number}" if isinstance(value, list) else None)
        if (label := _name(one)) is not None:
            yield replace(record, label=label, user=as_text(user))


def _find_failure(row: Any) -> str | None:
    """Find what is text of a request or a grader that failed: batch results say it anywhere."""
    failures = (" ".join(str(FAILURE.search(inner) or "").split()) for inner in unwrap(row))
    return next((text[:200].rstrip(".") for text in failures if text.casefold() not in FALSE), None)
