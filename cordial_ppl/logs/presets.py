"""Records of a file, by the fields that a preset or the user names."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from cordial_ppl.errors import FileError, InputError, list_names, quote
from cordial_ppl.logs.evidence import (
    FAILED,
    MUTE,
    Answer,
    Evidence,
    Record,
    Scores,
    as_day,
    as_text,
)
from cordial_ppl.logs.fields import Field, expand, fields_of, list_cells, read_value
from cordial_ppl.logs.protocols import WRAPPED, read_response, unwrap
from cordial_ppl.logs.rows import Row, at
from cordial_ppl.tables import is_filled
from cordial_ppl.tables.choices import join_parts
from cordial_ppl.tables.columns import PREFIXES
from cordial_ppl.tables.proposals import nearest

ROLES = (
    "rows", "item", "answer", "choices", "reader", "task", "label", "annotator", "people", "where",
    "model", "prompt",
)  # fmt: skip
"""What fields may hold."""

NAMES = ("reader", "task", "annotator", "model", "prompt")
CONDITIONS = ("rows", "people", "where")

LOOKED, SHOWN = 1000, 16
"""Rows that are looked at to tell what a file is, and fields that a message shows."""

FAILURES = (
    "error", "exception", "graderError", "scoring_failed", "parse_error", "status=error",
    "label=NOT_PARSABLE",
)  # fmt: skip
"""Fields beside a score, or values of them, that say that the grader failed."""

FALSE = ("false", "none", "null", "no", "0", "")

PRESETS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
"""Presets by name, in the order in which a file is compared with them."""

Fields = Mapping[str, tuple[Field, ...]]
"""Fields by what they hold, one of `ROLES`."""


def find_preset(path: Path, rows: Sequence[Row], name: str, typed: Any) -> str | None:
    """Find out which preset a file is of.

    Args:
        path: The file.
        rows: Its first rows.
        name: The name of a preset; "auto" to tell by the file.
        typed: Fields by role that the user names; where they name the answer and no preset is
            named, they are all that counts.

    Returns:
        The preset's name; None if the user's fields are all that counts.

    Raises:
        FileError: The file is of no known form.
        InputError: There is no such preset.
    """
    if name != "auto":
        if name not in PRESETS:
            near = nearest(name, list(PRESETS))
            hint = f" Did you mean {near}?" if near else ""
            raise InputError(
                f"a format must be auto or {', '.join(PRESETS)}; found {name!r}.{hint}"
            )
        return name
    if "answer" in typed:
        return None
    cells = first_cells(rows)
    if sum(field.startswith(PREFIXES) for field in cells) > 1:
        raise FileError(f"{path} is a table of readings: give it to `cordial calibrate`.")
    # The first row may be of a request that failed.
    some = [cells, *(row.value for row in rows[:SHOWN])]
    for name, table in PRESETS.items():
        if any(Field(table["when"]).find(one) for one in some):
            return name
    if "label" not in typed:
        raise FileError(
            f"{path} is not a log of a known format; its rows have {_say(cells)}. "
            "Name the field of the judge's answer and those that name the text: "
            f"cordial read {path} --item FIELD,FIELD --answer FIELD -o readings.csv. Texts "
            "that nobody has judged yet go to `cordial ask`."
        )
    return None


def first_cells(rows: Iterable[Row], *steps: Field) -> dict[str, Any]:
    """List the fields of first rows, each with the first value that fills it."""
    cells: dict[str, Any] = {}
    for row in islice(expand(rows, steps), LOOKED):
        cells = {name: cell for name, cell in row.value.items() if is_filled(cell)} | cells
    return cells


def _say(cells: Mapping[str, Any]) -> str:
    """List fields for a message, each with a value: "judge ('gpt-4'), score (4)"."""
    shown = [
        f"{name[:40]} ({quote(cell)})" if isinstance(cell, str | int | float) else name[:40]
        for name, cell in cells.items()
        if name != "outer"
    ]
    rest = len(shown) - SHOWN
    return ", ".join(shown[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def read_records(
    rows: Iterable[Row], first: Sequence[Row], preset: str | None, typed: Fields
) -> Iterator[Record]:
    """Read the records of a file.

    Args:
        rows: Its rows.
        first: The first of them.
        preset: The name of a preset, if any.
        typed: Fields that the user names, which replace those of the preset.

    Yields:
        A record for each answer, and for each label.

    Raises:
        FileError: The file cannot be read.
        InputError: A row has another form, or a field that the user names is in no row.
    """
    table = PRESETS.get(preset or "", {})
    fields = {role: fields_of([names] if isinstance(names := table[role], str) else names)
              for role in ROLES if role in table} | dict(typed)  # fmt: skip
    missing = {field.subject: None for role in typed if role != "rows" for field in typed[role]}
    numbered, number = bool(table.get("numbered")) and "label" not in typed, -1
    for number, row in enumerate(expand(rows, fields.get("rows", ()))):
        with at(row.location):
            for field in list(missing):
                if is_filled(field.find(row.value)):
                    del missing[field]
            if all(field.holds(row.value) for field in fields.get("where", ())):
                yield from _read_row(row, number, fields, numbered)
    if number < 0 or missing:
        names = [f"`{field.text}`" for field in (missing if number >= 0 else fields["rows"])]
        cells = first_cells(first, *(fields.get("rows", ()) if number >= 0 else ()))
        outer = row.value.get("outer", {}) if number >= 0 else {}
        around = [f"outer.{field.text}" for field in missing if is_filled(field.find(outer))]
        near = around[0] if around else nearest(names[0].strip("`"), list(cells))
        hint = f" Did you mean `{near}`?" if near else ""
        raise InputError(f"its rows have no {' or '.join(names)}; they have {_say(cells)}.{hint}")


def _read_row(row: Row, number: int, fields: Fields, numbered: bool) -> Iterator[Record]:
    """Read a row: its answers, then its labels."""
    roles = {role: some for role, some in fields.items() if role not in CONDITIONS}
    cells = {role: [one.find(row.value) for one in some] for role, some in roles.items()}
    names = {role: _name(cells[role][0], role) for role in NAMES if role in cells}
    default = [row.value.get("item_id"), row.value.get("key")]
    parts = [_name(part, "item") for part in cells.get("item", ())]
    parts = [part for part in parts or [_name(one, "item") for one in default][:1] if part]
    made = {role: text for role in ("model", "prompt") if (text := names.get(role))}
    record = Record(
        row.location,
        join_parts(parts) if parts else _name(default[1], "item") or str(number),
        numbered=not parts and default[1] is None,
        reader=names.get("reader"),
        task=names.get("task"),
        user=names.get("annotator"),
        made=made,
        extras=_extras(row.value, fields),
    )
    answers = list(zip(fields.get("answer", ()), cells.get("answer", ()), strict=True))
    by_person = any(field.holds(row.value) for field in fields.get("people", ()))
    several = len(answers) > 1
    for field, value in answers:
        part = replace(record, task=_join(record.task, field.name)) if several else record
        if by_person:
            yield from _read_label(part, value)
        elif is_filled(value) or not several:
            scores = _read_choices(cells.get("choices"), value)
            yield from _read_answer(part, row, field.name, scores, value)
    labels = [] if by_person else cells.get("label", [])
    if numbered and labels:
        labels = [_read_target(labels[0], (cells["choices"] or [None])[0])]
    for position, value in enumerate(labels):
        part, field = record, fields["label"][position]
        if several and len(labels) == len(answers):
            part = replace(record, task=_join(record.task, answers[position][0].name))
        elif len(labels) > 1:
            part = replace(record, user=record.user or field.text)
        yield from _read_label(part, value, *cells.get("annotator", ())[:1])


def _name(value: Any, role: str) -> str | None:
    """Take a name, or those of a list together; an `InputError` for an object."""
    if isinstance(value, list):
        return join_parts([_name(one, role) or "" for one in value], always=True) or None
    if isinstance(value, Mapping):
        raise InputError(f"the field of the {role} is an object with {list_names(value, 6)}.")
    return as_text(value)


def _extras(value: Mapping[str, Any], fields: Fields) -> dict[str, Any]:
    """List the other cells of a row and of those around it; of a response its metadata's."""
    roles = ["answer", "choices", "label", *NAMES]
    roles += ["item"] if len(fields.get("item", ())) == 1 else []
    used = {key for role in roles for one in fields.get(role, ()) for key in one.keys}
    if Field("@") in fields.get("answer", ()) and not any(
        isinstance(value.get(name), Mapping) for name in WRAPPED
    ):
        value = {"metadata": value.get("metadata")}
    used |= {*WRAPPED, "outer", "request", "modelInput", "item_id", "custom_id"}
    cells: dict[str, Any] = {}
    level: Any = value
    while isinstance(level, Mapping):
        for path, cell in list_cells({name: one for name, one in level.items() if name != "outer"}):
            if not any(f"{path}.".startswith(f"{one}.") for one in used):
                cells.setdefault(path, cell)
        level = level.get("outer")
    return cells


def _read_answer(
    record: Record, row: Row, name: str, scores: Scores | None, value: Any
) -> Iterator[Record]:
    """Read the answer of a row, or several of a decision model."""
    response = read_response(value)
    if response is None:
        failure = _find_failure(row.value)
        evidence = None if failure else scores or read_value(value, name)
        yield _with(record, evidence, failure or f"no `{name}`")
        return
    body = response.body
    model = as_text(body.get("model") or body.get("modelVersion"))
    date = as_day(body.get("created") or body.get("created_at"))
    made = {key: text for key, text in (("model", model), ("date", date)) if text}
    record = replace(record, reader=record.reader or model, made=made | dict(record.made))
    several = len(response.decisions) > 1
    for question, decided in response.decisions.items():
        task = _join(record.task, question)
        yield _with(replace(record, task=task, fixed=several), decided)
    if not response.decisions:
        yield _with(record, response.answers or None, "no answer")


def _read_choices(options: Any, value: Any) -> Scores | None:
    """Read numbers of options that another field names."""
    if not options or not options[0] or not isinstance(value, list):
        return None
    numbers = [float(number) for number in value]
    kind = "logprob" if max(numbers) <= 0 else "logit"
    return Scores(kind, numbers, [str(option).strip() for option in options[0]])


def _read_target(label: Any, choices: Any) -> Any:
    """Name the choice that a label counts, from 0; refuse one that may be a name too."""
    if not choices or not str(label).isdecimal():
        return label
    if any(str(choice).strip().isdecimal() for choice in choices):
        return InputError(
            f"the target {label} may be a choice's name or its position from 0: name the field of "
            "the document that holds the label, such as --label doc.label."
        )
    return dict(enumerate(choices)).get(int(label))


def _read_label(record: Record, value: Any, people: Any = None) -> Iterator[Record]:
    """Make a record of a label, or of each in a list, of people who may be in a list too."""
    for number, one in enumerate(value if isinstance(value, list) else [value]):
        label = one if isinstance(one, InputError) else _name(one, "label")
        user = people[number] if isinstance(people, list) else record.user
        if isinstance(value, list):
            user = user or f"person {number + 1}"
        if label is not None:
            yield replace(record, label=label, user=as_text(user))


def _with(record: Record, evidence: Evidence | None, reason: str = "") -> Record:
    """Put evidence into a record, or why there is none."""
    if evidence is None:
        return replace(record, lost=f"{FAILED}: {reason}")
    some = evidence if isinstance(evidence, list) else [evidence]
    if all(one.lost for one in some):
        return replace(record, lost=some[0].lost)
    if isinstance(evidence, list):
        # Of several answers to one question those that are lost name no option.
        mute = MUTE if any(one.positions for one in evidence) else Answer("")
        evidence = [mute if one.lost else one for one in evidence]
    return replace(record, evidence=evidence)


def _find_failure(value: Any) -> str | None:
    """Find what is text of a request or a grader that failed: batch results say it anywhere."""
    for inner in unwrap(value):
        for name, equals, wanted in (condition.partition("=") for condition in FAILURES):
            cell = inner.get(name) or ""
            text = str(cell.get("message") if isinstance(cell, Mapping) else cell)
            if text == wanted if equals else text.casefold() not in FALSE:
                return f"{name}: {' '.join(text.split())}"[:200].rstrip(".")
        if isinstance(code := inner.get("status_code"), int) and code >= 400:
            return f"status {code}"
    return None


def _join(*parts: str | None) -> str | None:
    """Join the parts of a task's name that are there."""
    there = [part for part in parts if part]
    return join_parts(there) if there else None
