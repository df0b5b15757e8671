"""From rows whose fields are named to what a file says of each text."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.logs.evidence import GRADER, Orders, Record
from cordial_ppl.logs.naming import DATA, ROLES, WORDS, Naming, as_name, name_of
from cordial_ppl.logs.paths import EACH, Found, follow, list_cells, look, opened
from cordial_ppl.logs.resolving import rows_of
from cordial_ppl.logs.rows import Row, at
from cordial_ppl.logs.values import read_value
from cordial_ppl.tables.choices import join_parts
from cordial_ppl.tables.formats import is_filled

FALSE = ("false", "0", "0.0", "no", "none", "null")
"""What a flag says that is not set."""

FAILED = (
    *("error", "error_message", "graderError", "metadata.graderError", "extra.error"),
    *("sample.error", "exception", "exceptions", "parse_error", "scoring_failed"),
    *("status=error", "execution_status=failed", "label=not_parsable"),
)
"""Fields, or their values, that say that the grader failed; the score beside stands for nothing."""

SOURCES = ("source", "source_type", "source.source_type", "source.type", "annotator_kind")
"""Fields beside a score that say who gave it."""

PEOPLE = ("human", "person", "people", "annotation", "annotator", "user", "app", "api_user")
"""What these say of people."""

LONG = 100
"""Characters of a grader's error that are quoted."""

Matches = dict[str, list[tuple[str, Found]]]
"""What stands at the fields of each role, with their paths."""


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
    together: dict[Any, list[Record]] = {}
    rest: list[Record] = []
    for row in rows_of(path, [naming]):
        with at(row.location, WORDS):
            records = list(reader.read(row))
        for record in records:
            if record.item_id is None:
                record = replace(record, item_id=str(texts), numbered=True)
            key = record.item_id, record.reader, record.task
            parts = rest if record.evidence is None else together.setdefault(key, [])
            parts.append(record)
        texts += any(record.failed is None for record in records)
    single = [_take_once(parts) for parts in together.values()]
    for parts in single if None not in single else together.values():
        yield _join(parts or [])
    yield from rest


def _take_once(parts: list[Record]) -> list[Record] | None:
    """Return the answers beside the labels of one person; None if those beside others' differ."""
    people: dict[str | None, list[Record]] = {}
    for part in parts:
        people.setdefault(part.user, []).append(part)
    first, *others = people.values()
    answers = [(part.evidence, part.swapped) for part in first]
    same = ([(part.evidence, part.swapped) for part in group] == answers for group in others)
    return first if all(same) else None


def _join(parts: list[Record]) -> Record:
    """Make the record of a text with all of its answers."""
    person = next((part.person for part in parts if part.person), None)
    rows = len({part.location for part in parts})
    first, *others = (part.extras for part in parts)
    same = {n: cell for n, cell in first.items() if all(other.get(n) == cell for other in others)}
    record = replace(parts[0], rows=rows, person=person, extras=same)
    swapped = [part.swapped for part in parts]
    evidence: list[Any] = [part.evidence for part in parts]
    if not any(swapped) and all(isinstance(one, list) for one in evidence):
        return replace(record, evidence=[answer for answers in evidence for answer in answers])
    if any(swapped) or len(parts) > 1:
        return replace(record, evidence=Orders(evidence, swapped))
    return record


class _Reader:
    """Reads rows by a naming that fits the file."""

    def __init__(self, naming: Naming):
        self.naming = naming
        roles = dict(naming.paths)
        forms = "|".join(map(_form, naming.answer))
        self.swapped = {path for path in naming.swapped if re.fullmatch(forms, path)}
        roles["swapped"] = tuple(path for path in naming.swapped if path not in self.swapped)
        holders = [holder for path in naming.answer for holder in _holders(path)]
        roles["beside"] = tuple(dict.fromkeys(holders))
        self.paths = [path for paths in roles.values() for path in paths]
        self.roles = [role for role, paths in roles.items() for _ in paths]
        # A star that the name of the text has too is no person; of the reader or so, no task.
        self.people = max((path.count(EACH) for path in naming.item), default=0)
        owners = (*naming.item, *naming.reader, *naming.task, *naming.annotator)
        self.owned = max((path.count(EACH) for path in owners), default=0)
        # Parts of a name say more than it does: the system in "question|system".
        used = (*naming.data, *naming.reader, *naming.task, *naming.annotator)
        used += naming.item if len(naming.item) == 1 else ()
        head, star, _ = (naming.item or ("",))[0].rpartition(f"{EACH}.")
        self.element = head + star
        forms = "|".join(_form(path.removeprefix(self.element)) for path in used)
        self.used = re.compile(rf"({forms})(\..*)?")

    def read(self, row: Row) -> Iterator[Record]:
        """Read a row: its answers, then its labels."""
        read: set[Any] = set()
        labels: list[Record] = []
        for match in follow(row.value, self.paths):
            matches: Matches = {role: [] for role in (*ROLES, "beside")}
            for role, path, one in zip(self.roles, self.paths, match, strict=True):
                matches[role].append((path, one))
            conditions = zip(self.naming.where, matches["where"], strict=True)
            if not all(condition.holds(one) for condition, (_, one) in conditions):
                continue
            names = {
                role: name_of(*matches[role][0]) if matches[role] else None
                for role in ("reader", "task", "annotator")
            }
            record = Record(
                row.location,
                self._item(matches, row.key),
                reader=names["reader"],
                task=names["task"],
                user=names["annotator"],
                extras=self._extras(row, matches),
            )
            yield from self._answers(record, matches, read)
            labels += self._labels(record, matches)
        yield from labels

    def _item(self, matches: Matches, key: str | None) -> str | None:
        """Name a text; None if nothing is said of it, or nobody named the fields."""
        if not any(is_filled(one.value) for role in DATA for _, one in matches[role]):
            return None
        parts = [(path, name_of(path, one)) for path, one in matches["item"]]
        if lacking := [path for path, name in parts if name is None]:
            raise InputError(f"a text needs a name; `{lacking[0]}` is empty.")
        return join_parts([name or "" for _, name in parts]) if parts else key

    def _extras(self, row: Row, matches: Matches) -> dict[str, Any]:
        """The texts and numbers of the row, or of the element that a text is, that nobody named."""
        keys = matches["item"][0][1].keys if matches["item"] else ()
        value = look(row.value, _filled(self.element, keys).removesuffix("."))
        if not isinstance(value, Mapping):
            return {}
        cells = list_cells(value)
        return {path: cell for path, cell in cells if not self.used.fullmatch(path)}

    def _answers(self, record: Record, matches: Matches, read: set[Any]) -> Iterator[Record]:
        flag = any(_is_set(one.value) for _, one in matches["swapped"])
        beside = dict(matches["beside"])
        for number, (path, match) in enumerate(matches["answer"]):
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
            if failure := _find(path, beside, FAILED, _is_set):
                reason = f"{failure[0].rpartition('.')[2]} {failure[1]}"
                yield replace(part, failed=f"{GRADER}: {reason}")
            elif (evidence := read_value(match.value, path)) is None:
                yield replace(part, failed=f"no `{path}`")
            else:
                person = _find(path, beside, SOURCES, lambda value: str(value).casefold() in PEOPLE)
                swapped = flag or _filled(path, match.keys) in self.swapped
                person = "=".join(person) or None
                yield replace(part, evidence=evidence, person=person, swapped=swapped)

    def _labels(self, record: Record, matches: Matches) -> Iterator[Record]:
        """Read the labels; people of a list whom a file does not name go by their number."""
        # As many as answers are of the same aspects; other fields are of one person each.
        paired = len(matches["label"]) == len(matches["answer"])
        paths = self.naming.answer if paired else ()
        for number, (path, match) in enumerate(matches["label"]):
            part = replace(record, task=self._task(record, number, match, paths))
            if len(matches["label"]) > 1 and not paired and record.task is None:
                part = replace(part, user=record.user or path)
            value = opened(match.value)
            element = next((key for key in match.keys[self.people :] if isinstance(key, int)), None)
            if isinstance(value, list) and element is not None:
                # Spans and the like, which are no labels of a whole text.
                continue
            listed = isinstance(value, list)
            for nth, one in enumerate(value if listed else [value]):
                position = nth if listed else element
                if (label := as_name(one, path)) is not None:
                    person = None if position is None else f"person {position + 1}"
                    yield replace(part, label=label, user=part.user or person)

    def _task(self, record: Record, number: int, match: Found, paths: Sequence[str]) -> str | None:
        """Name the task: what the row says, the field among several, what stars stand for."""
        # What is missing keeps its place, unless no row has it.
        parts = [record.task or ""] if self.naming.task else []
        if len(paths) > 1 and not self.naming.task:
            last = [one.rpartition(".")[2] for one in paths]
            parts.append(last[number] if len(set(last)) == len(last) else paths[number])
        parts += [key for key in match.keys[self.owned :] if isinstance(key, str) and key]
        return join_parts(parts) if any(parts) else None


def _holders(path: str) -> list[str]:
    """List the objects that say more of an answer: what it stands in, and what these stand in."""
    parts = path.split(".")
    # What all keys of an object are answers of says nothing more itself.
    parts = parts[: -2 if parts[-1] == EACH else -1]
    outer = [parts]
    while outer[-1] and EACH not in outer[-1][-1]:
        outer.append(outer[-1][:-1])
    return [*map(".".join, outer)]


def _find(
    path: str, beside: Mapping[str, Found], names: Sequence[str], test: Callable[[Any], bool]
) -> tuple[str, str] | tuple[()]:
    """Find the first of several fields beside an answer that passes a test, and what it holds."""
    for holder in _holders(path):
        for condition in names if isinstance(beside[holder].value, Mapping) else ():
            name, _, wanted = condition.partition("=")
            value, field = look(beside[holder].value, name), f"{holder}.{name}".removeprefix(".")
            says = str(value).casefold() == wanted if wanted else test(value)
            # Texts have sources too: only elements of a list are people's or a judge's by it.
            counts = field != path and (name != "source" or EACH in holder)
            if counts and is_filled(value) and says:
                return field, " ".join(str(value).split())[:LONG]
    return ()


def _is_set(value: Any) -> bool:
    """Return whether a flag, or a message of an error, says something."""
    return is_filled(value) and value not in ([], {}) and str(value).casefold() not in FALSE


def _form(path: str) -> str:
    """Return a pattern of what a path stands for."""
    return re.escape(path).replace(re.escape(EACH), r"[^.]+")


def _filled(path: str, keys: Sequence[str | int]) -> str:
    """Fill in what the stars of a path stand for: "games.1.score"."""
    for key in keys:
        path = path.replace(EACH, str(key), 1)
    return path
