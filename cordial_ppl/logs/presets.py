"""Presets: formats that are names of fields alone, as `presets.toml` lists them by tool."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.logs.evidence import Record
from cordial_ppl.logs.format import Format
from cordial_ppl.logs.named import read_named
from cordial_ppl.logs.naming import OTHERWISE, ROLES, WORDS, Condition, Naming, within
from cordial_ppl.logs.resolving import has, resolve

NAMED = "fields"
"""The name of the format of files whose fields are named by hand."""


def by_fields(name: str, words: str, namings: tuple[Naming, ...], **settings: Any) -> Format:
    """Make a format of names of fields.

    Args:
        name: Its name.
        words: What its files hold.
        namings: Which fields hold what; a file has those of one of them, at least.
        settings: Other attributes of the format.
    """

    def records(path: Path) -> Iterator[Record]:
        empty = True
        for naming in (resolved := resolve(path, namings)):
            for record in read_named(path, naming):
                empty = False
                yield record
        unmet = [
            " and ".join(one.text for one in naming.where) for naming in resolved if naming.where
        ]
        if empty and unmet:
            raise InputError(f"no row meets the condition {', or '.join(unmet)}.")

    return Format(name, words, records, namings=namings, **settings)


def by_hand(fields: Mapping[str, Any]) -> Format:
    """Make the format of a file whose fields a user names."""
    naming = Naming.of({"item": "item_id ?", "annotator": "annotator ?", **fields})
    return by_fields(NAMED, WORDS, (naming,))


def change(form: Format, fields: Mapping[str, Any]) -> Format:
    """Make a format with other fields, which replace its own where it has answers."""
    roles = {name: getattr(Naming.of(fields), name) for name in fields}
    answers = tuple(naming for naming in form.namings if naming.answer)
    namings = tuple(replace(naming, **roles) for naming in answers or form.namings)
    return by_fields(form.name, form.words, namings, knows=form.knows, round=form.round)


def _preset(name: str, table: Mapping[str, Any]) -> Format:
    """Make the format of an entry of the table."""
    namings: list[Naming] = []
    shared = {role: table[role] for role in ROLES if role in table}
    for naming in (Naming.of(shared | row) for row in table.get("rows", [{}])):
        if "people" in table and naming.annotator:
            people = Condition.of(table["people"])
            others = people._replace(wanted=not people.wanted)
            labels = replace(naming, label=naming.answer, answer=(), where=(*naming.where, people))
            naming = replace(naming, annotator=(), where=(*naming.where, others))
            namings += [naming, labels]
        else:
            namings.append(naming)
    # Those of answers say what a file lacks, and what a user's fields replace.
    namings.sort(key=lambda naming: not naming.answer)
    namings = [within(one, prefix) for prefix in table.get("within", [""]) for one in namings]
    marks = [mark.split(OTHERWISE) for mark in table["marks"]]
    lacks = table.get("lacks", [])
    return by_fields(
        name,
        table["words"],
        tuple(namings),
        knows=lambda first: all(has(first, mark) for mark in marks) and not has(first, lacks),
        round=table.get("round"),
    )


_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
PRESETS = {name: _preset(name, table) for name, table in _TABLES.items()}
"""Presets by name, in the order in which a file is compared with them."""
