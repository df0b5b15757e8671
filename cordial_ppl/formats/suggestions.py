"""The command to type next for a file of no known form, guessed from its fields."""

import csv
import io
import math
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from cordial_ppl.formats.naming import Naming, name_of
from cordial_ppl.formats.paths import EACH, follow, opened
from cordial_ppl.formats.resolving import LOOKED, list_named, resolve_any
from cordial_ppl.formats.rows import read_rows
from cordial_ppl.numerals import parse_number
from cordial_ppl.tables.annotators import HUMAN, PEOPLE
from cordial_ppl.tables.choices import IDS

PARTS = (
    *("model", "model_id", "model_name", "generator", "system", "system_id", "candidate"),
    *("turn", "round", "aspect", "criterion", "dimension", "response_id", "answer_id"),
)
"""What else tells texts apart."""

READERS = ("judge", "judge_model", "judge_name", "evaluator", "eval_model", "grader", "rater_model")

ANSWERS = (
    *("judgment", "judgement", "verdict", "rating", "score", "grade", "evaluation"),
    *("feedback", "critique", "review", "preference", "response", "output", "answer", "completion"),
    *("text", "value", "content"),
)

WHOSE = tuple(name + end for name in ("annotator", "user", *PEOPLE) for end in ("", "_id", "_name"))
"""Fields of whose label a row holds."""

NAMING = {*PEOPLE, "id"} - {*HUMAN}
"""Last words of fields that name somebody, "human_rater"."""

MOST = 20
"""No scale is guessed to have as many options."""

HIGHEST = 100
"""No rating is guessed to be above."""

Named = Mapping[str, Any]


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
    fields = _gather(list_named(path))
    labels = list(given.get("label") or find_labels(fields))
    answer = _best(fields, ANSWERS, labels) or _by_content(fields, labels)
    if answer is None and not labels:
        return None
    rated = answer if answer is not None else labels[0]
    start = rated.rpartition(f"{EACH}.content")[0]
    if answer and start and f"{start}{EACH}.role" in fields:
        # The judge speaks last.
        answer = rated = f"{start}-1.content"
    reader = given.get("reader")
    reader = reader or (_best(fields, READERS, labels) if answer is not None else None)
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


def find_labels(fields: Named) -> list[str]:
    """The fields that look like people's labels."""
    labels = [name for name, value in fields.items() if _is_label(name, value)]
    # "Human 1" and "Human 2" are two people.
    return [name for name in labels if _stem(name) == _stem(labels[0])]


def guess_options(path: Path, fields: Sequence[str]) -> tuple[str, ...]:
    """Guess the options of a file whose fields hold numbers: from 1, or their lowest, up.

    Args:
        path: The file.
        fields: The fields of answers and labels; those that hold no numbers do not count.

    Returns:
        Whole numbers; none where the numbers are of no such scale.
    """
    found: list[float] = []
    for row in islice(read_rows(path), LOOKED):
        try:
            for places in follow(row.value, [_lifted(row.value, name) for name in fields]):
                cells = (one for place in places for one in _listed(opened(place.value)))
                numbers = [parse_number(str(cell)) for cell in cells]
                found += [number for number in numbers if number is not None]
        except ValueError:
            return ()
    low, high = math.floor(min(found, default=1)), math.ceil(max(found, default=0))
    low = min(low, 1)
    return tuple(map(str, range(low, high + 1))) if 1 <= high - low < MOST else ()


def _find_people(
    path: Path, fields: Named, known: Sequence[str], rated: str, but: Sequence[str | None]
) -> str | None:
    """The field of whose label a row holds, where it tells rows of one text apart."""
    people = _best(fields, WHOSE, (*known, rated, *but))
    if people is None:
        return None
    item = [*known] or [name for name in (_best(fields, IDS, (rated, people)),) if name]
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


def _stem(name: str) -> str:
    """A name without its numbers."""
    return re.sub(r"\d+", "", name)


def as_cell(names: Iterable[str]) -> str:
    """Names as an option takes them; one with a comma in quotes."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def _listed(value: Any) -> list[Any]:
    """A value, or those of a list."""
    return value if isinstance(value, list) else [value]


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
    first = _best(inside, IDS, (rated,)) if not known else None
    chosen = [*known] if known or first is None else [first]
    rest = [name for part in PARTS for name in inside if _last(name) == part]
    for more in ([], *([name] for name in rest if name not in (*chosen, *beside, rated))):
        trial = [*chosen, *more]
        before, after = (_distinct(path, names, rated, beside) for names in (chosen, trial))
        if after > before or not more:
            chosen = trial
        if after == 1.0:
            break
    return chosen


def _gather(fields: Named) -> dict[str, Any]:
    """The fields, with the numbers of one object as one: aspects, `scores.*`."""
    numbers = [name for name, value in fields.items() if isinstance(value, int | float)]
    beside = Counter(name.rpartition(".")[0] for name in numbers)
    found: dict[str, Any] = {}
    for name, value in fields.items():
        inside = name.rpartition(".")[0]
        rated = _last(inside).removesuffix("s") in ANSWERS and beside[inside] > 1
        aspects = inside and name in numbers and (rated or _is_label(inside, None))
        found.setdefault(f"{inside}.{EACH}" if aspects else name, value)
    return found


def _distinct(path: Path, names: Sequence[str], rated: str, beside: Sequence[str | None]) -> float:
    """The share of a file's first answers whose names differ."""
    paths = [*names, *filter(None, beside), rated]
    seen, total = set(), 0
    for row in islice(read_rows(path), LOOKED):
        try:
            for found in follow(row.value, [_lifted(row.value, name) for name in paths]):
                parts = zip(paths[:-1], found[:-1], strict=True)
                seen.add(tuple(name_of(name, one) for name, one in parts))
                total += 1
        except ValueError:
            return 0.0
    return len(seen) / total if total else 0.0


def _lifted(value: Named, name: str) -> str:
    """A field of a row, or of each element of an object by id."""
    top = name.partition(".")[0]
    keyed = top not in value and name not in value and EACH not in top
    return f"{EACH}.{name}" if keyed else name


def _best(fields: Named | list[str], wanted: Sequence[str], but: Any) -> str | None:
    """The field whose last part is the first of those wanted, the shortest of several."""
    names = [name for name in fields if name not in but]
    names.sort(key=len)
    for part in wanted:
        if found := [name for name in names if _last(name) in (part, f"{part}s")]:
            return found[0]
    ends = "|".join(map(re.escape, wanted))
    found = [name for name in names if re.search(rf"(?:^|[_\W])(?:{ends})\Z", _last(name))]
    return next(iter(found), None)


def _by_content(fields: Named, labels: list[str]) -> str | None:
    """The field that holds numbers by option, or a number that may be a rating."""
    names = [name for name in fields if _last(name) not in (*IDS, *PARTS) and name not in labels]
    by_option = [name for name in names if isinstance(fields[name], dict)]
    small = [
        name
        for name in names
        if isinstance(fields[name], int | float) and abs(fields[name]) <= HIGHEST
    ]
    return next(iter([*by_option, *small]), None)


def _last(name: str) -> str:
    """The last part of a path in lower case with underscores: "modelName" is "model_name"."""
    last = name.removesuffix(f".{EACH}").rpartition(".")[2]
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[\s-]+", "_", last).lower()


def _is_label(name: str, value: Any) -> bool:
    words = re.split(r"[\W_]+", "_".join(map(_last, name.split("."))))
    nested = (
        isinstance(value, dict)
        or isinstance(value, list)
        and any(isinstance(one, dict | list) for one in value)
    )
    named = words[-1] in NAMING
    return any(word in HUMAN for word in words) and not nested and not named
