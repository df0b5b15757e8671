"""What fields a file has: a naming resolved by them, and what is said of one that is not there."""

from collections.abc import Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.logs.naming import DATA, MAYBE, OTHERWISE, SINGLE, Naming
from cordial_ppl.logs.paths import EACH, follow, list_fields
from cordial_ppl.logs.rows import Row, at, read_rows, say_values
from cordial_ppl.tables.choices import nearest
from cordial_ppl.tables.files import is_filled

LOOKED = 1000
"""Rows that are looked at for fields that nobody named."""


class NoField(InputError):
    """A field that was named is in no row."""


def resolve(path: Path, naming: Naming) -> Naming:
    """Choose among the fields that a naming leaves open by those that a file has.

    Args:
        path: The file.
        naming: Which fields hold what, with `a | b` for the first that some row fills, and `a ?`
            for one that may be missing.

    Returns:
        The same with paths alone; each within the elements of the file's one object, if these hold
        a text each.

    Raises:
        FileError: The file cannot be read.
        NoField: A field is in no row.
    """
    rows = read_rows(path)
    first = next(rows)
    keyed = _is_keyed(first, naming)
    naming = _within(naming) if keyed else naming
    texts = {text: _choices(text) for named in naming.paths.values() for text in named}
    filled: set[str] = set()
    for number, row in enumerate(chain([first], rows)):
        # A field that few rows have, such as a label, may come late; a better one does not.
        if number >= LOOKED:
            texts = {text: some for text, some in texts.items() if filled.isdisjoint(some)}
        missing = {one for some in texts.values() for one in some} - filled
        if not missing:
            break
        with at(row.location):
            filled |= {one for one in missing if has(row.value, one)}
    chosen: dict[str, Any] = {}
    for role, texts in naming.paths.items():
        taken = [next((one for one in _choices(text) if one in filled), None) for text in texts]
        for text, one in zip(texts, taken, strict=True):
            if one is None and not text.endswith(MAYBE):
                raise _no_field(path, text, keyed)
        if role == "where":
            conditions = zip(naming.where, taken, strict=True)
            chosen[role] = tuple(c._replace(path=one) for c, one in conditions if one is not None)
            continue
        paths = tuple(one for one in taken if one is not None)
        chosen[role] = next(iter(paths), None) if role in SINGLE else paths
    if not any(chosen.get(role) for role in DATA):
        raise _no_field(
            path, next(text for role in DATA for text in naming.paths.get(role, ())), keyed
        )
    if keyed and not chosen.get("item"):
        chosen["item"] = (EACH,)
    return Naming(**chosen)


def resolve_any(path: Path, namings: Sequence[Naming]) -> list[Naming]:
    """Resolve those of several namings whose fields a file has; raise a `NoField` if it is none."""
    resolved = []
    for naming in namings:
        try:
            resolved.append(resolve(path, naming))
        except NoField:
            continue
    # If none does, the first says what is missing.
    return resolved or [resolve(path, namings[0])]


def has(value: Any, path: str) -> bool:
    """Say whether something stands at a path."""
    # A key is there, whatever it holds.
    stars = path.count(EACH) if EACH in path.rpartition(".")[2] else None
    matches = follow(value, [path])
    return any(is_filled(one.value) or len(one.keys) == stars for (one,) in matches)


def has_field(path: Path, name: str, naming: Naming) -> bool:
    """Say whether some of a file's first rows have a field, beside those of the answers."""
    ends = {one.rpartition(".")[2] for text in naming.answer for one in _choices(text)}
    if len(naming.answer) > 1 and name in ends:
        # These name tasks already.
        return False
    rows = read_rows(path)
    first = next(rows)
    wanted = f"{EACH}.{name}" if _is_keyed(first, naming) and name[0] != EACH else name
    return any(has(row.value, wanted) for row in islice(chain([first], rows), LOOKED))


def list_named(path: Path) -> dict[str, list[Any]]:
    """List the fields of a file's first rows, each with its first three different values."""
    fields = list_fields(row.value for row in islice(read_rows(path), LOOKED))
    # Of an object by id, the fields of its elements are named.
    if fields and all(name.startswith(f"{EACH}.") for name in fields):
        return {name.removeprefix(f"{EACH}."): values for name, values in fields.items()}
    return fields


def _no_field(path: Path, text: str, keyed: bool) -> NoField:
    fields = list_named(path)
    wanted = text.removesuffix(MAYBE).split(OTHERWISE)
    wanted = [one.removeprefix(f"{EACH}." if keyed else "") for one in wanted]
    near = next((name for one in wanted if (name := nearest(one, list(fields)))), None)
    hint = f" Did you mean `{near}`?" if near else ""
    names = ", ".join(f"`{one}`" for one in wanted[:3])
    names += f" and none of {len(wanted) - 3} others" if len(wanted) > 3 else ""
    return NoField(f"its rows have no {names}; they have {say_values(fields)}.{hint}")


def _is_keyed(first: Row, naming: Naming) -> bool:
    """Say whether the elements of a file's one object hold what is named, and not the object."""
    cells = list(first.value.values())
    wanted = [one for role in DATA for text in getattr(naming, role) for one in _choices(text)]
    return (
        all(isinstance(cell, Mapping) for cell in cells)
        and not any(has(first.value, one) for one in wanted)
        and any(has(cell, one) for cell in cells for one in wanted)
    )


def _within(naming: Naming) -> Naming:
    """The same fields, of every element of an object; by default its key names the text."""

    def inner(text: str) -> str:
        parts = text.split(OTHERWISE)
        return OTHERWISE.join(one if one[0] == EACH else f"{EACH}.{one}" for one in parts)

    filled: dict[str, Any] = {
        role: tuple(map(inner, texts)) for role, texts in naming.paths.items()
    }
    filled["where"] = tuple(c._replace(path=inner(c.path)) for c in naming.where)
    single = {role: filled[role][0] for role in SINGLE if role in filled}
    return Naming(**{**filled, **single})


def _choices(text: str) -> list[str]:
    """The fields that a text may mean: first the one that is called so."""
    return list(dict.fromkeys([text, *text.removesuffix(MAYBE).split(OTHERWISE)]))
