"""What fields a file has: namings resolved by them, and what is said of one that is not there."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.logs.naming import MAYBE, OTHERWISE, WORDS, Naming
from cordial_ppl.logs.paths import EACH, follow, list_fields
from cordial_ppl.logs.rows import Row, at, read_rows, say_fields
from cordial_ppl.tables.formats import is_filled
from cordial_ppl.tables.proposals import nearest

LOOKED = 1000
"""Rows that are looked at for fields that nobody named."""


def rows_of(path: Path, namings: Sequence[Naming]) -> Iterator[Row]:
    """Read the rows of a file; if the fields are in the elements of its one object, these."""
    rows = read_rows(path)
    first = next(rows)
    cells = list(first.value.values())
    wanted = [one for naming in namings for text in naming.data for one in choices(text)]
    if not all(isinstance(cell, Mapping) for cell in cells) or has(first.value, wanted):
        yield from chain([first], rows)
    elif any(has(cell, wanted) for cell in cells):
        for row in chain([first], rows):
            for key, cell in row.value.items():
                yield Row(f"{row.location}, {key}", cell, key)
    else:
        yield from chain([first], rows)


def resolve(path: Path, namings: Sequence[Naming]) -> list[Naming]:
    """Choose among the fields that namings leave open by those that a file has.

    Args:
        path: The file.
        namings: Which fields hold what, with `a | b` for the first that some row fills, and `a ?`
            for one that may be missing.

    Returns:
        Those whose fields the file has, with paths alone.

    Raises:
        FileError: The file cannot be read.
        InputError: It has the fields of none; what the first lacks is said, and what there is.
    """
    texts = {
        text: choices(text)
        for naming in namings
        for paths in naming.paths.values()
        for text in paths
    }
    filled: set[str] = set()
    for number, row in enumerate(rows_of(path, namings)):
        # A field that few rows have, such as a label, may come late; a better one does not.
        if number >= LOOKED:
            texts = {text: some for text, some in texts.items() if filled.isdisjoint(some)}
        missing = {one for some in texts.values() for one in some} - filled
        if not missing:
            break
        with at(row.location, WORDS):
            filled |= {one for one in missing if has(row.value, [one])}

    def take(text: str) -> str | None:
        return next((one for one in choices(text) if one in filled), None)

    resolved, lacking = [], None
    for naming in namings:
        chosen = naming.change(take)
        required = [text for some in naming.paths.values() for text in some]
        required = [text for text in required if not text.endswith(MAYBE)]
        missing = [text for text in required if take(text) is None]
        if not missing and chosen.data:
            resolved.append(chosen)
        else:
            lacking = lacking or (missing or naming.data)[0]
    if not resolved:
        raise _no_field(path, str(lacking), namings)
    return resolved


def has(value: Any, paths: Sequence[str]) -> bool:
    """Say whether something stands at one of several paths."""
    # A key is there, whatever it holds.
    return any(
        is_filled(one.value)
        or EACH in path.rpartition(".")[2]
        and len(one.keys) == path.count(EACH)
        for path in paths
        for (one,) in follow(value, [path])
    )


def has_field(path: Path, name: str, naming: Naming) -> bool:
    """Say whether some of a file's first rows have a field, beside those of the answers."""
    ends = {one.rpartition(".")[2] for text in naming.answer for one in choices(text)}
    if len(naming.answer) > 1 and name in ends:
        # These name tasks already.
        return False
    return any(has(row.value, [name]) for row in islice(rows_of(path, [naming]), LOOKED))


def list_named(path: Path, namings: Sequence[Naming] = ()) -> dict[str, list[Any]]:
    """List the fields of a file's first rows, each with its first three different values."""
    names = list_fields(row.value for row in islice(rows_of(path, namings), LOOKED))
    # Of an object by id, the fields of its elements are named.
    each = f"{EACH}."
    if names and all(name.startswith(each) for name in names):
        return {name.removeprefix(each): values for name, values in names.items()}
    return names


def _no_field(path: Path, text: str, namings: Sequence[Naming]) -> InputError:
    names = list_named(path, namings)
    wanted = text.removesuffix(MAYBE).split(OTHERWISE)
    near = next((name for one in wanted if (name := nearest(one, list(names)))), None)
    hint = f" Did you mean `{near}`?" if near else ""
    listed = " or ".join(f"`{one}`" for one in wanted[:3])
    listed += f", or {len(wanted) - 3} others" if len(wanted) > 3 else ""
    return InputError(f"its rows have no {listed}; they have {say_fields(names)}.{hint}")


def choices(text: str) -> list[str]:
    """List the fields that a text may mean: first the one that is called so."""
    return list(dict.fromkeys([text, *text.removesuffix(MAYBE).split(OTHERWISE)]))
