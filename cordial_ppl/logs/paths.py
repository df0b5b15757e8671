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
from cordial_ppl.tables.files import is_filled

EACH = "*"

CLOSED = {"{": "}", "[": "]"}
"""How JSON begins and ends that is an object or a list."""

DEEPEST, MANY, LEAVES, SHOWN = 6, 12, 200, 3
"""How deep, into how many keys of one object, and to how many fields, with how many values."""


class Found(NamedTuple):
    """What stands at a path.

    Attributes:
        value: The value; None if there is none.
        keys: What its stars stand for: names of an object, or positions in a list.
    """

    value: Any
    keys: tuple[str | int, ...] = ()


def look(value: Any, path: str) -> Any:
    """Find what stands at a path without a star.

    Args:
        value: Where the path begins.
        path: The path; "" for the value itself.

    Returns:
        What is there; None if nothing is.
    """
    if not path:
        return value
    value = opened(value)
    if isinstance(value, Mapping) and path in value:
        return value[path]
    head, _, rest = path.partition(".")
    if isinstance(value, list):
        inside = re.fullmatch(r"-?\d{1,9}", head) and -len(value) <= int(head) < len(value)
        return look(value[int(head)], rest) if inside else None
    if not isinstance(value, Mapping):
        return None
    parts = path.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        if (head := ".".join(parts[:cut])) in value:
            inner = look(value[head], ".".join(parts[cut:]))
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


def _follow(places: list[tuple[Any, str, tuple]], paths: Sequence[str]) -> Iterator[list[Found]]:
    cuts = [_cut(value, path) for value, path, _ in places]
    if not any(cuts):
        yield [Found(look(value, path), keys) for value, path, keys in places]
        return
    # What has no star is found once, whatever the stars stand for.
    places = [
        location if cut else (look(location[0], location[1]), "", location[2])
        for location, cut in zip(places, cuts, strict=True)
    ]
    elements = {at: _elements(places[at][0], *cut) for at, cut in enumerate(cuts) if cut}
    _check(elements, paths)
    if not any(elements.values()):
        # A row that lacks what the stars are of is a row all the same.
        yield [
            Found(None if cut else look(value, path), keys)
            for (value, path, keys), cut in zip(places, cuts, strict=True)
        ]
    for key in dict.fromkeys(key for keys in elements.values() for key in keys):
        yield from _follow(
            [
                (elements[at].get(key), cut[2], (*location[2], key)) if cut else location
                for at, (location, cut) in enumerate(zip(places, cuts, strict=True))
            ],
            paths,
        )


def _cut(value: Any, path: str) -> tuple[str, str, str] | None:
    """What a path has before its first part with a star, that part, and what follows it."""
    if EACH not in path or isinstance(value, Mapping) and path in value:
        return None
    parts = path.split(".")
    at = next(at for at, part in enumerate(parts) if EACH in part)
    return ".".join(parts[:at]), parts[at], ".".join(parts[at + 1 :])


def _elements(value: Any, before: str, part: str, after: str) -> dict[str | int, Any]:
    """The elements that a star stands for, by key."""
    value = opened(look(value, before))
    if isinstance(value, list):
        return dict(enumerate(value)) if part == EACH else {}
    if not isinstance(value, Mapping):
        return {}
    if part == EACH:
        return _flat(value, after) | dict(value)
    form = re.compile("(.*)".join(map(re.escape, part.split(EACH, 1))), re.DOTALL)
    return {match[1]: cell for name, cell in value.items() if (match := form.fullmatch(name))}


def _flat(value: Mapping[str, Any], after: str) -> dict[str, Any]:
    """Elements whose fields are written out, "clarity.score": of `*.score`."""
    parts = after.split(".")
    parts = parts[: next((at for at, part in enumerate(parts) if EACH in part), len(parts))]
    elements: dict[str, Any] = {}
    for cut in range(1, len(parts) + 1):
        end = ".".join(parts[:cut])
        for name, cell in value.items():
            if end and name.endswith(f".{end}"):
                elements.setdefault(name[: -len(end) - 1], {})[end] = cell
    return elements


def _check(elements: Mapping[int, Mapping], paths: Sequence[str]) -> None:
    """Check that stars which belong together stand for the same."""
    first: tuple[int, set] | None = None
    for at, cells in elements.items():
        keys = set(cells)
        if not keys:
            continue
        lists = first and isinstance(next(iter(keys | first[1])), int)
        mixed = first and len({type(key) for key in keys | first[1]}) > 1
        if first and (mixed or lists and keys != first[1]):
            raise InputError(
                f"`{paths[first[0]]}` and `{paths[at]}` have {len(first[1])} and {len(keys)} "
                "elements, but their stars must match one to one. If these are several answers of "
                "one text, leave the star out."
            )
        first = first or (at, keys)


def opened(value: Any) -> Any:
    """What a text that is a JSON object or list holds; anything else as it is."""
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
        for path, cell in _leaves(value, "", 0):
            if len(fields) < LEAVES and is_filled(cell):
                cells = fields.setdefault(path, [])
                if len(cells) < SHOWN and cell not in cells:
                    cells.append(cell)
    return fields


def _leaves(value: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    start = f"{path}." if path else ""
    if depth < DEEPEST and isinstance(value, Mapping) and value and not _is_by_option(value):
        alike = _are_alike(list(value.values()))
        for name, cell in list(value.items())[: MANY if alike else None]:
            yield from _leaves(cell, f"{start}{EACH if alike else name}", depth + 1)
    elif depth < DEEPEST and isinstance(value, list) and any(isinstance(c, Mapping) for c in value):
        for cell in value[:MANY]:
            yield from _leaves(cell, f"{start}{EACH}", depth + 1)
    else:
        yield path, value


def _is_by_option(value: Mapping[str, Any]) -> bool:
    """Whether an object has numbers by the number of an option."""
    return all(
        re.fullmatch(r"\s*-?\d+(\.\d+)?\s*", name) and not isinstance(cell, Mapping | list | str)
        for name, cell in value.items()
    )


def _are_alike(cells: list[Any]) -> bool:
    """Whether an object has the same kind of object at each key."""
    if len(cells) < 2 or not all(isinstance(cell, Mapping) and cell for cell in cells):
        return False
    names = [set(cell) for cell in cells]
    return 2 * len(set.intersection(*names)) >= len(set.union(*names))
