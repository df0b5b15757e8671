"""Paths to fields: keys and positions with dots between, `scores.0.value`, and `*` for each.

`results.*.score` stands for the scores of all elements of a list, or of all keys of an object; a
part with a star in it, `*_score`, for the keys of that form. Paths are followed together: what
several of them have at their first star belongs to one element, then at their second, and so on. A
key with dots in it is found as it is written, and fields `scores.clarity`, `scores.style` of a
table are found as `scores.*` too. Text that is a JSON object or list is looked into.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cordial_ppl.errors import InputError
from cordial_ppl.tables.formats import is_filled

EACH = "*"

CLOSED = {"{": "}", "[": "]"}
"""How JSON begins and ends that is an object or a list."""

DEEPEST, MANY, LEAVES, SHOWN = 6, 12, 200, 3
"""How deep, into how many elements of a list, and to how many fields, with how many values."""


class Found(NamedTuple):
    """What stands at a path.

    Attributes:
        value: The value; None if there is none.
        keys: What its stars stand for: names of an object, or positions in a list.
    """

    value: Any
    keys: tuple[str | int, ...] = ()


def look(value: Any, path: str) -> Any:
    """Find what stands at a path without a star, "" for the value itself; None if nothing does."""
    if not path:
        return value
    value = opened(value)
    if isinstance(value, list):
        head, _, rest = path.partition(".")
        return look(value[int(head)], rest) if head in map(str, range(len(value))) else None
    if not isinstance(value, Mapping):
        return None
    if path in value:
        return value[path]
    for dot in reversed(list(re.finditer(r"\.", path))):
        inner = look(value.get(path[: dot.start()]), path[dot.end() :])
        if inner is not None:
            return inner
    start = f"{path}."
    flat = {name[len(start) :]: cell for name, cell in value.items() if name.startswith(start)}
    return flat or None


def follow(value: Any, paths: Sequence[str]) -> Iterator[list[Found]]:
    """Find what stands at several paths together.

    Args:
        value: Where the paths begin.
        paths: The paths, with or without stars.

    Yields:
        What stands at each path, once for every element that the stars stand for.

    Raises:
        InputError: Two paths have a list and an object, or lists of different lengths, at stars
            that belong together.
    """
    yield from _follow([(value, path, ()) for path in paths], paths)


def _follow(starts: list[tuple[Any, str, tuple]], paths: Sequence[str]) -> Iterator[list[Found]]:
    each = [_elements(value, path) for value, path, _ in starts]
    _check([(path, set(some)) for path, some in zip(paths, each, strict=True) if some])
    keys = dict.fromkeys(key for some in each if some for key in some)
    if not keys:
        # A row that lacks what the stars are of is a row all the same.
        yield [
            Found(look(value, path) if some is None else None, stars)
            for (value, path, stars), some in zip(starts, each, strict=True)
        ]
    for key in keys:
        yield from _follow(
            [
                start if some is None else (*some.get(key, (None, "")), (*start[2], key))
                for start, some in zip(starts, each, strict=True)
            ],
            paths,
        )


def _elements(value: Any, path: str) -> dict[str | int, tuple[Any, str]] | None:
    """List what the first star of a path stands for, with the path in each; None for no star."""
    if EACH not in path or isinstance(value, Mapping) and path in value:
        return None
    parts = path.split(".")
    at = next(at for at, part in enumerate(parts) if EACH in part)
    inner, part, rest = opened(look(value, ".".join(parts[:at]))), parts[at], parts[at + 1 :]
    after = ".".join(rest)
    if isinstance(inner, list):
        return {at: (cell, after) for at, cell in enumerate(inner)} if part == EACH else {}
    if not isinstance(inner, Mapping):
        return {}
    form = re.compile("(.*)".join(map(re.escape, part.split(EACH, 1))), re.DOTALL)
    flat: dict[str | int, Any] = {}
    cells: dict[str | int, Any] = {}
    for name, cell in inner.items():
        # "clarity.score" is of `*.score`.
        head, dot, tail = name.partition(f".{rest[0]}") if rest else (name, "", "")
        if dot and tail[:1] in ("", ".") and part == EACH:
            flat.setdefault(head, {})[rest[0] + tail] = cell
        elif match := form.fullmatch(name):
            cells[match[1]] = cell
    return {key: (cell, after) for key, cell in (flat | cells).items()}


def _check(stars: list[tuple[str, set]]) -> None:
    """Check that stars which belong together stand for the same."""
    for path, keys in stars:
        first, wanted = stars[0]
        kinds = {type(key) for key in keys | wanted}
        if len(kinds) > 1 or int in kinds and keys != wanted:
            raise InputError(
                f"`{first}` and `{path}` have {len(wanted)} and {len(keys)} elements, but their "
                "stars must match one to one. If these are several answers for one text, leave "
                "the star out."
            )


def opened(value: Any) -> Any:
    """Open a text that is a JSON object or list; leave anything else as it is."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    # "[[4]]" is how judges write a rating.
    if text[:1] not in CLOSED or not text.endswith(CLOSED[text[0]]) or text.startswith("[["):
        return value
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return value


def list_fields(values: Iterable[Any]) -> dict[str, list[Any]]:
    """List the fields of some rows.

    Args:
        values: The rows.

    Returns:
        Paths of what is no object, with `*` for the elements of lists of objects and for objects
        by id, and the first three different values at each.
    """
    fields: dict[str, list[Any]] = {}
    for value in values:
        for path, cell in _leaves(value, []):
            if len(fields) < LEAVES and is_filled(cell):
                cells = fields.setdefault(path, [])
                if len(cells) < SHOWN and cell not in cells:
                    cells.append(cell)
    return fields


def _leaves(value: Any, parts: list[str]) -> Iterator[tuple[str, Any]]:
    cells = [*value.values()] if isinstance(value, Mapping) else value
    if not isinstance(cells, list) or not cells or len(parts) == DEEPEST:
        yield ".".join(parts), value
    elif all(isinstance(cell, Mapping) and cell for cell in cells) and (
        isinstance(value, list) or len(cells) > 1 and set.intersection(*map(set, cells))
    ):
        for cell in cells[:MANY]:
            yield from _leaves(cell, [*parts, EACH])
    elif isinstance(value, Mapping):
        for name, cell in value.items():
            yield from _leaves(cell, [*parts, name])
    else:
        yield ".".join(parts), value


def list_cells(value: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, Any]]:
    """List the texts and numbers of an object and of those in it, with their paths."""
    for name, cell in value.items():
        if isinstance(cell, Mapping) and start.count(".") < DEEPEST:
            yield from list_cells(cell, f"{start}{name}.")
        elif isinstance(cell, str | int | float) and is_filled(cell):
            yield start + name, cell
