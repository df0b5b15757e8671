"""The command to type next for a file of no known form, guessed from its fields."""

import csv
import io
import shlex
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from cordial_ppl.logs.guesses import (
    ANSWERS,
    PARTS,
    READERS,
    WHOSE,
    Named,
    best,
    by_content,
    find_labels,
    gather,
    guess_options,
    last_part,
    lifted,
)
from cordial_ppl.logs.naming import Naming, name_of
from cordial_ppl.logs.paths import EACH, follow
from cordial_ppl.logs.resolving import LOOKED, list_named, resolve_any
from cordial_ppl.logs.rows import read_rows
from cordial_ppl.tables.choices import IDS


def suggest(path: Path, given: Named | None = None, options: Sequence[str] = ()) -> str | None:
    """Write the command that would likely read a file.

    Args:
        path: The file.
        given: The attributes of a naming that are known already.
        options: The options, if they are known.

    Returns:
        The command; None if no field looks like an answer or a label.
    """
    given = given or {}
    fields = gather(list_named(path))
    labels = list(given.get("label") or find_labels(fields))
    answer = best(fields, ANSWERS, labels) or by_content(fields, labels)
    if answer is None and not labels:
        return None
    rated = answer if answer is not None else labels[0]
    start = rated.rpartition(f"{EACH}.content")[0]
    if answer and start and f"{start}{EACH}.role" in fields:
        # The judge speaks last.
        answer = rated = f"{start}-1.content"
    reader = given.get("reader")
    reader = reader or (best(fields, READERS, labels) if answer is not None else None)
    known = tuple(given.get("item", ()))
    people = given.get("annotator")
    if labels and people is None:
        people = _find_people(path, fields, known, rated, [reader, *labels])
    items = suggest_item(path, fields, rated, [reader, people], known)
    if not items and (keys := _keyed(path, rated)):
        item, *others = keys
        items, reader = [item], reader or next(iter(others), None)
    named = {
        "item": items,
        "answer": [] if answer is None else [rated],
        "reader": [reader],
        "task": [given.get("task")],
        "label": labels,
        "annotator": [people],
        "swapped": given.get("swapped", ()),
        "options": options or guess_options(path, [rated, *labels]),
    }
    words = ["cordial", "read", str(path)]
    for role, names in named.items():
        words += [f"--{role}", as_cell(names)] if any(names) else []
    for condition in given.get("where", ()):
        words += ["--where", condition.text]
    words += ["-o", "readings.csv"] if answer is not None else []
    words += ["--labels", "labels.csv"] if labels else []
    return shlex.join(words)


def _find_people(
    path: Path, fields: Named, known: Sequence[str], rated: str, but: Sequence[str | None]
) -> str | None:
    """The field of whose label a row holds, where it tells rows of one text apart."""
    people = best(fields, WHOSE, (*known, rated, *but))
    if people is None:
        return None
    item = [*known] or [name for name in (best(fields, IDS, (rated, people)),) if name]
    before, after = (_distinct(path, names, rated, []) for names in (item, [*item, people]))
    return people if after > before else None


def _keyed(path: Path, rated: str) -> list[str]:
    """The paths whose keys may name texts, which are more, and readers: objects by id."""
    parts = rated.split(".")
    first = next(read_rows(path)).value
    levels = list(zip(*(found[0].keys for found in follow(first, [rated])), strict=False))
    ends = [at + 1 for at, part in enumerate(parts) if part == EACH]
    named = [
        (len(set(level)), end, ".".join(parts[:end]))
        for end, level in zip(ends, levels, strict=False)
        if isinstance(level[0], str) and end < len(parts)
    ]
    return [path for *_, path in sorted(named, reverse=True)]


def as_cell(names: Iterable[str]) -> str:
    """Names as an option takes them; one with a comma in quotes."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def name_more(path: Path, namings: Sequence[Naming]) -> tuple[str, str]:
    """Find what tells apart the rows of one text.

    Args:
        path: The file.
        namings: Those of its format.

    Returns:
        The role to name and its fields: "annotator", or "item" with what else names the text; no
        fields where none is found.
    """
    fitting = (one for one in resolve_any(path, namings) if one.item)
    naming = next(fitting, None)
    if naming is None:
        return "item", ""
    fields = list_named(path)
    item, (rated, *others) = (
        [name.removeprefix(f"{EACH}.") for name in names]
        for names in (naming.item, (*naming.answer, *naming.label))
    )
    if naming.annotator is None:
        people = _find_people(path, fields, item, rated, [naming.reader, *others])
        if people is not None:
            return "annotator", people
    more = suggest_item(path, fields, rated, [naming.reader], tuple(item))
    return "item", as_cell(more) if len(more) > len(item) else ""


def suggest_item(
    path: Path,
    fields: Named,
    rated: str,
    beside: Sequence[str | None],
    known: tuple[str, ...] = (),
) -> list[str]:
    """Find fields that together name texts, so that no two rows have the same name.

    Args:
        path: The file.
        fields: Its fields.
        rated: The field of the answer.
        beside: Fields that tell rows apart beside the name: of the reader, of whose a label is.
        known: Fields that are part of the name already.

    Returns:
        The fields, those known first; as few as it takes, or all that may help.
    """
    below = rated.rpartition(EACH)[0]
    inside = [
        name
        for name in fields
        if below.startswith(name.rpartition(EACH)[0]) or name.count(EACH) == rated.count(EACH)
    ]
    first = best(inside, IDS, (rated,)) if not known else None
    chosen = [*known] if known or first is None else [first]
    rest = [name for part in PARTS for name in inside if last_part(name) == part]
    for more in ([], *([name] for name in rest if name not in (*chosen, *beside, rated))):
        trial = [*chosen, *more]
        before, after = (_distinct(path, names, rated, beside) for names in (chosen, trial))
        if after > before or not more:
            chosen = trial
        if after == 1.0:
            break
    return chosen


def _distinct(path: Path, names: Sequence[str], rated: str, beside: Sequence[str | None]) -> float:
    """The share of a file's first answers whose names differ."""
    paths = [*names, *filter(None, beside), rated]
    seen, total = set(), 0
    for row in islice(read_rows(path), LOOKED):
        try:
            for found in follow(row.value, [lifted(row.value, name) for name in paths]):
                parts = zip(paths[:-1], found[:-1], strict=True)
                seen.add(tuple(name_of(name, one) for name, one in parts))
                total += 1
        except ValueError:
            return 0.0
    return len(seen) / total if total else 0.0
