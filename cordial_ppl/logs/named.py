"""From rows whose fields are named to what a file says of each text."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from cordial_ppl.errors import InputError
from cordial_ppl.logs.evidence import Evidence, Orders
from cordial_ppl.logs.naming import DATA, ROLES, Naming, as_name, name_of
from cordial_ppl.logs.paths import EACH, Found, follow, opened
from cordial_ppl.logs.records import Record
from cordial_ppl.logs.rows import Row, at, read_rows
from cordial_ppl.logs.values import read_value
from cordial_ppl.tables.choices import join_parts
from cordial_ppl.tables.files import is_filled

FALSE = ("false", "0", "0.0", "no")
"""What a flag says that is not set."""


def read_named(path: Path, naming: Naming) -> Iterator[Record]:
    """Read a file by the names of its fields.

    Rows of the same text, reader and task hold several answers to one question; but where those of
    every annotator are the same throughout, they are repeated beside each label, and count once.

    Args:
        path: The file.
        naming: Which fields hold what, resolved for the file.

    Yields:
        What it holds of each text, then rows without an answer and further labels.

    Raises:
        FileError: The file cannot be read.
        InputError: A field holds something else than it should.
    """
    reader, texts = _Reader(naming), 0
    together: dict[Any, tuple[Record, list[_Part]]] = {}
    rest: list[Record] = []
    for row in read_rows(path):
        with at(row.location):
            records = list(reader.read(row))
        texts += any(record.failed is None for record, _ in records)
        for record, swapped in records:
            if not naming.item:
                record = replace(record, item_id=str(texts - 1), numbered=True)
            if record.evidence is None:
                rest.append(record)
                continue
            key = record.item_id, record.reader, record.task
            parts = together.setdefault(key, (record, []))[1]
            parts.append(_Part(record.evidence, swapped, record.user, record.location))
    single = {key: _take_once(parts) for key, (_, parts) in together.items()}
    repeated = None not in single.values()
    for key, (record, parts) in together.items():
        yield _join(record, (repeated and single[key]) or parts)
    yield from rest


class _Part(NamedTuple):
    """One answer: whether its options run the other way, whose label is beside it, and where."""

    evidence: Evidence
    swapped: bool
    user: str | None
    location: str


def _take_once(parts: list[_Part]) -> list[_Part] | None:
    """The answers beside the labels of one person; None if those beside others' differ."""
    people: dict[str | None, list[_Part]] = {}
    for part in parts:
        people.setdefault(part.user, []).append(part)
    answers = [[part[:2] for part in group] for group in people.values()]
    return next(iter(people.values())) if all(group == answers[0] for group in answers) else None


def _join(record: Record, parts: list[_Part]) -> Record:
    """The record of a text with all of its answers."""
    record = replace(record, rows=len({part.location for part in parts}))
    swapped = tuple(part.swapped for part in parts)
    answers = [one for part in parts if isinstance(part.evidence, list) for one in part.evidence]
    if any(swapped) or not all(isinstance(part.evidence, list) for part in parts):
        if len(parts) == 1 and not any(swapped):
            return record
        orders: list[Any] = [part.evidence for part in parts]
        return replace(record, evidence=Orders(orders), swapped=swapped)
    return replace(record, evidence=answers)


class _Named(dict[str, list[tuple[str, Found]]]):
    """What stands at the fields of each role, with their paths."""

    def name(self, role: str) -> str | None:
        """The name that the field of a role gives; None if there is none."""
        return name_of(*self[role][0]) if self[role] else None


class _Reader:
    """Reads rows by a naming that fits the file."""

    def __init__(self, naming: Naming):
        self.naming = naming
        roles = dict(naming.paths)
        forms = [re.escape(path).replace(re.escape(EACH), r"[^.]+") for path in naming.answer]
        self.swapped = {p for p in naming.swapped if any(re.fullmatch(one, p) for one in forms)}
        roles["swapped"] = tuple(path for path in naming.swapped if path not in self.swapped)
        self.paths = [path for paths in roles.values() for path in paths]
        self.roles = [role for role, paths in roles.items() for _ in paths]
        # A star that the name of the text has too is no person; of the reader or so, no task.
        self.people = max((path.count(EACH) for path in naming.item), default=0)
        owners = (*naming.item, naming.reader, naming.task, naming.annotator)
        self.owned = max((path.count(EACH) for path in owners if path), default=0)

    def read(self, row: Row) -> Iterator[tuple[Record, bool]]:
        """Read a row: yields records, and whether their options run the other way."""
        read: set[Any] = set()
        labels: list[tuple[Record, bool]] = []
        for match in follow(row.value, self.paths):
            named = _Named({role: [] for role in ROLES})
            for role, path, one in zip(self.roles, self.paths, match, strict=True):
                named[role].append((path, one))
            conditions = zip(self.naming.where, named["where"], strict=True)
            if not all(condition.holds(one) for condition, (_, one) in conditions):
                continue
            record = Record(
                row.location,
                self._item(named),
                reader=named.name("reader"),
                task=named.name("task"),
                user=named.name("annotator"),
            )
            yield from self._answers(record, named, read)
            labels += self._labels(record, named)
        yield from ((label, False) for label in _number(labels))

    def _item(self, named: _Named) -> str | None:
        """The name of a text; None if nothing is said of it, or nobody named the fields."""
        if not any(is_filled(one.value) for role in DATA for _, one in named[role]):
            return None
        parts = [(path, name_of(path, one)) for path, one in named["item"]]
        if lacking := [path for path, name in parts if name is None]:
            raise InputError(f"a text needs a name; `{lacking[0]}` is empty.")
        return join_parts([name or "" for _, name in parts]) if parts else None

    def _answers(
        self, record: Record, named: _Named, read: set[Any]
    ) -> Iterator[tuple[Record, bool]]:
        flag = any(
            is_filled(one.value) and str(one.value).casefold() not in FALSE
            for _, one in named["swapped"]
        )
        for number, (path, match) in enumerate(named["answer"]):
            # Stars of labels may go on where the answer has none.
            key = path, match.keys, record.item_id, record.reader, record.task
            if key in read:
                continue
            read.add(key)
            task = self._task(record, number, match, self.naming.answer)
            # Elements that name texts are rows of their own.
            inside = _filled(path, match.keys[: self.owned]).partition(f".{EACH}")[0]
            location = f"{record.location}, {inside}" if self.owned else record.location
            part = replace(record, task=task, location=location)
            if (evidence := read_value(match.value, path)) is None:
                yield replace(part, failed=f"no `{path}`"), False
            else:
                swapped = flag or _filled(path, match.keys) in self.swapped
                yield replace(part, evidence=evidence), swapped

    def _labels(self, record: Record, named: _Named) -> Iterator[tuple[Record, bool]]:
        """The labels, and whether each is one of a list."""
        # As many as answers are of the same aspects; other fields are of one person each.
        paired = len(named["label"]) == len(named["answer"])
        paths = self.naming.answer if paired else ()
        for number, (path, match) in enumerate(named["label"]):
            part = replace(record, task=self._task(record, number, match, paths))
            if len(named["label"]) > 1 and not paired and record.task is None:
                part = replace(part, user=record.user or path)
            value = opened(match.value)
            listed = any(type(key) is int for key in match.keys[self.people :])
            if isinstance(value, list) and listed:
                # Spans and the like, which are no labels of a whole text.
                continue
            several = isinstance(value, list)
            for one in value if several else [value]:
                if (label := as_name(one, path)) is not None:
                    yield replace(part, label=label), listed or several

    def _task(self, record: Record, number: int, match: Found, paths: Sequence[str]) -> str | None:
        """The task: what the row says, the field among several, what stars stand for."""
        # What is missing keeps its place, unless no row has it.
        parts = [record.task or ""] if self.naming.task else []
        if len(paths) > 1 and self.naming.task is None:
            last = [one.rpartition(".")[2] for one in paths]
            parts.append(last[number] if len(set(last)) == len(last) else paths[number])
        parts += [key for key in match.keys[self.owned :] if isinstance(key, str) and key]
        return join_parts(parts) if any(parts) else None


def _filled(path: str, keys: Sequence[str | int]) -> str:
    """A path with what its stars stand for: "games.1.score"."""
    for key in keys:
        path = path.replace(EACH, str(key), 1)
    return path


def _number(labels: Sequence[tuple[Record, bool]]) -> Iterator[Record]:
    """Number the people of a list whom a file does not name, if there are several."""
    unnamed = Counter((one.item_id, one.task) for one, listed in labels if listed and not one.user)
    seen: Counter[Any] = Counter()
    for one, listed in labels:
        key = one.item_id, one.task
        if listed and not one.user and unnamed[key] > 1:
            seen[key] += 1
            one = replace(one, user=f"person {seen[key]}")
        yield one
