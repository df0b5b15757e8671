"""What fields hold, guessed from their names and values: answers, labels, options."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from cordial_ppl.data.numerals import parse_number
from cordial_ppl.logs.paths import EACH, follow, opened
from cordial_ppl.logs.resolving import LOOKED
from cordial_ppl.logs.rows import read_rows
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
            for places in follow(row.value, [lifted(row.value, name) for name in fields]):
                cells = (one for place in places for one in _listed(opened(place.value)))
                numbers = [parse_number(str(cell)) for cell in cells]
                found += [number for number in numbers if number is not None]
        except ValueError:
            return ()
    low, high = math.floor(min(found, default=1)), math.ceil(max(found, default=0))
    low = min(low, 1)
    return tuple(map(str, range(low, high + 1))) if 1 <= high - low < MOST else ()


def _stem(name: str) -> str:
    """A name without its numbers."""
    return re.sub(r"\d+", "", name)


def _listed(value: Any) -> list[Any]:
    """A value, or those of a list."""
    return value if isinstance(value, list) else [value]


def gather(fields: Named) -> dict[str, Any]:
    """The fields, with the numbers of one object as one: aspects, `scores.*`."""
    numbers = [name for name, value in fields.items() if isinstance(value, int | float)]
    beside = Counter(name.rpartition(".")[0] for name in numbers)
    found: dict[str, Any] = {}
    for name, value in fields.items():
        inside = name.rpartition(".")[0]
        rated = last_part(inside).removesuffix("s") in ANSWERS and beside[inside] > 1
        aspects = inside and name in numbers and (rated or _is_label(inside, None))
        found.setdefault(f"{inside}.{EACH}" if aspects else name, value)
    return found


def lifted(value: Named, name: str) -> str:
    """A field of a row, or of each element of an object by id."""
    top = name.partition(".")[0]
    keyed = top not in value and name not in value and EACH not in top
    return f"{EACH}.{name}" if keyed else name


def best(fields: Named | list[str], wanted: Sequence[str], but: Any) -> str | None:
    """The field whose last part is the first of those wanted, the shortest of several."""
    names = [name for name in fields if name not in but]
    names.sort(key=len)
    for part in wanted:
        if found := [name for name in names if last_part(name) in (part, f"{part}s")]:
            return found[0]
    ends = "|".join(map(re.escape, wanted))
    found = [name for name in names if re.search(rf"(?:^|[_\W])(?:{ends})\Z", last_part(name))]
    return next(iter(found), None)


def by_content(fields: Named, labels: list[str]) -> str | None:
    """The field that holds numbers by option, or a number that may be a rating."""
    others = (*IDS, *PARTS)
    names = [name for name in fields if last_part(name) not in others and name not in labels]
    by_option = [name for name in names if isinstance(fields[name], dict)]
    small = [
        name
        for name in names
        if isinstance(fields[name], int | float) and abs(fields[name]) <= HIGHEST
    ]
    return next(iter([*by_option, *small]), None)


def last_part(name: str) -> str:
    """The last part of a path in lower case with underscores: "modelName" is "model_name"."""
    last = name.removesuffix(f".{EACH}").rpartition(".")[2]
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[\s-]+", "_", last).lower()


def _is_label(name: str, value: Any) -> bool:
    words = re.split(r"[\W_]+", "_".join(map(last_part, name.split("."))))
    nested = (
        isinstance(value, dict)
        or isinstance(value, list)
        and any(isinstance(one, dict | list) for one in value)
    )
    named = words[-1] in NAMING
    return any(word in HUMAN for word in words) and not nested and not named
