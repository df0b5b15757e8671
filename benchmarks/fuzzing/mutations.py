"""Ways to damage what is valid: bytes, lines, trees as JSON has them, tables, and arrays.

Everything takes a random generator, so that a seed makes the same case again.
"""

import copy
import datetime
import json
import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

LONG = 20_000
"""Characters of a long text, and brackets of a deep nesting."""

NUMBERS = (0, -1, 1, 2, 7, 0.5, -0.0, 1e30, -1e30, 1e308, -1e308, 5e-324, 2**31, 2**63, -(2**63))
NUMBERS += (2**64, 10**40, 10**400, float("nan"), float("inf"), float("-inf"))

WORDS = (
    "",
    " ",
    "1",
    "01",
    "1.0",
    "1e999",
    "-1e-999",
    "0x10",
    "1_000",
    "1,5",
    "nan",
    "NaN",
    "-inf",
    "None",
    "null",
    "true",
    "\uff11",
    "\u0661",
    "\u00bd",
    "e\u0301",
    "\u202etxet",
    "\N{PILE OF POO}",
    "\x00",
    "\ufeff",
    "\ud800",
    "a\nb",
    "a\rb",
    "a\tb",
    '"',
    "'",
    "a,b",
    "=1+1",
    "..",
    "/",
    "%s{}",
    "\\",
    "[/x]",
    "[bold]",
    "item_id",
    "label",
    "logit_1",
    "p_",
    "x" * LONG,
    "9" * LONG,
)

VALUES = (None, True, False, *NUMBERS, *WORDS, [], {}, [[]], [None], {"a": 1}, [1, "1"], {"": {}})
"""What may stand where something else should, as JSON has it."""

MARKS = (b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\r\n", b"\n\n", b'"', b",", b"\\", b"{")
MARKS += (b"[", b"]", b"NaN", b"1e999", b"-", b"\xc3", b"\xed\xa0\x80", b"PK\x05\x06", b"PAR1")


def mostly(rng: random.Random, usual: Any, *odd: Any) -> Any:
    """Take what is usual; one time in ten something odd."""
    return usual if rng.random() < 0.9 else rng.choice(odd)


def damage_bytes(rng: random.Random, data: bytes) -> bytes:
    """Flip, cut, insert, double or convert some of the bytes, once or a few times."""
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        data = rng.choice(BYTES)(rng, data)
    return data


def _flip(rng: random.Random, data: bytes) -> bytes:
    flipped = bytearray(data)
    for _ in range(rng.choice((1, 1, 3, 30))):
        if flipped:
            flipped[rng.randrange(len(flipped))] = rng.randrange(256)
    return bytes(flipped)


def _insert(rng: random.Random, data: bytes) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.choice(MARKS) * rng.choice((1, 1, 2, 50)) + data[at:]


def _double(rng: random.Random, data: bytes) -> bytes:
    start, end = _span(rng, data)
    return data[:end] + data[start:end] * rng.choice((1, 1, 3)) + data[end:]


def _remove(rng: random.Random, data: bytes) -> bytes:
    start, end = _span(rng, data)
    return data[:start] + data[end:]


def _span(rng: random.Random, data: bytes) -> tuple[int, int]:
    start = rng.randint(0, len(data))
    return start, min(len(data), start + rng.choice((1, 2, 8, 100, len(data))))


def _convert(rng: random.Random, data: bytes) -> bytes:
    text = data.decode("utf-8", "replace")
    return rng.choice(
        (
            lambda: text.encode("utf-16"),
            lambda: text.encode("utf-32"),
            lambda: text.encode("latin-1", "replace"),
            lambda: b"\xef\xbb\xbf" + data,
            lambda: data.replace(b"\n", b"\r\n"),
            lambda: data.replace(b"\n", b"\r"),
            lambda: data.replace(b"\n", b""),
            lambda: data.strip(),
            lambda: b"",
        )
    )()


BYTES: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _flip,
    _flip,
    _insert,
    _double,
    _remove,
    _convert,
    lambda rng, data: data[: rng.randint(0, len(data))],
    lambda rng, data: data[rng.randint(0, len(data)) :],
    lambda rng, data: data + bytes(rng.randrange(256) for _ in range(rng.choice((1, 64)))),
)


def damage_lines(rng: random.Random, text: str) -> str:
    """Remove, double, swap or cut lines, or put a word into one."""
    lines = text.splitlines(keepends=True)
    for _ in range(rng.choice((1, 1, 2))):
        if not lines:
            return text
        at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        kind = rng.randrange(6)
        if kind == 0:
            del lines[at]
        elif kind == 1:
            lines.insert(other, lines[at])
        elif kind == 2:
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == 3:
            lines[at] = lines[at][: rng.randint(0, len(lines[at]))]
        else:
            column = rng.randint(0, len(lines[at]))
            word = rng.choice(WORDS) if kind == 4 else json.dumps(rng.choice(VALUES))
            lines[at] = lines[at][:column] + word + lines[at][column:]
    return "".join(lines)


def damage_tree(rng: random.Random, tree: Any) -> Any:
    """Put something else at one or a few places of lists and objects, or take it away."""
    tree = [copy.deepcopy(tree)]
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        places = list(_places(tree))
        parent, key = rng.choice(places)
        kind = rng.randrange(8)
        if kind == 0 and parent is not tree:
            del parent[key]
        elif kind == 1:
            parent[key] = [parent[key]]
        elif kind == 2:
            parent[key] = str(parent[key])
        elif kind == 3:
            parent[key] = copy.deepcopy(rng.choice(places)[0])
        elif kind == 4 and isinstance(parent, dict):
            parent[rng.choice(WORDS)] = parent.pop(key)
        elif kind == 5 and isinstance(parent, list):
            parent.append(copy.deepcopy(parent[key]))
        else:
            parent[key] = copy.deepcopy(rng.choice(VALUES))
    return tree[0]


def _places(tree: Any) -> Any:
    """Every list or object of a tree with each of its keys."""
    keys = tree if isinstance(tree, dict) else range(len(tree))
    for key in list(keys):
        yield tree, key
        if isinstance(tree[key], dict | list):
            yield from _places(tree[key])


def damage_table(rng: random.Random, table: dict[str, list]) -> list[tuple[str, list]]:
    """Change cells, rows, columns and names of a table; its columns, of which two may be alike."""
    columns = [(name, list(cells)) for name, cells in table.items()]
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if not columns:
            break
        at = rng.randrange(len(columns))
        name, cells = columns[at]
        kind = rng.randrange(16)
        if kind == 0:
            del columns[at]
        elif kind == 1:
            columns.insert(rng.randint(0, len(columns)), (name, list(cells)))
        elif kind == 2:
            columns[at] = rng.choice((*WORDS, "logit_9", "n_1", "rating", "reader", "task")), cells
        elif kind == 3:
            rng.shuffle(columns)
        elif kind == 4:
            value = rng.choice(VALUES)
            columns[at] = name, [copy.deepcopy(value) for _ in cells]
        elif kind == 5:
            rows = rng.sample(range(len(cells)), rng.randint(0, len(cells)))
            columns = [(title, [part[i] for i in rows]) for title, part in columns]
        elif kind == 6 and cells:
            row = rng.randrange(len(cells))
            columns = [(title, [*part, part[row]]) for title, part in columns]
        elif cells:
            cells[rng.randrange(len(cells))] = copy.deepcopy(rng.choice(VALUES))
    return columns


def odd_value(rng: random.Random) -> Any:
    """Something that an argument should not be."""
    return rng.choice(
        (
            lambda: rng.choice(VALUES),
            lambda: rng.choice(NUMBERS),
            lambda: np.float64(rng.choice((0.5, np.nan, 3))),
            lambda: np.int8(3),
            lambda: np.array([1, 2]),
            lambda: np.array("text"),
            lambda: (),
            lambda: ("a", "b"),
            lambda: {"a", "b"},
            lambda: b"bytes",
            lambda: 1j,
            lambda: object(),
            lambda: object,
            lambda: range(3),
            lambda: iter([1, 2]),
            lambda: Decimal("0.3"),
            lambda: Fraction(1, 3),
            lambda: datetime.date(2025, 1, 1),
            lambda: lambda: 1,
            lambda: Ellipsis,
            lambda: slice(2),
        )
    )()


class Refusing:
    """An object that fails whatever is asked of it."""

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        """Fail as a broken library would."""
        raise RuntimeError("this is no array")

    def __len__(self) -> int:
        """Say something that is not so."""
        return 3

    def __getitem__(self, _: Any) -> Any:
        """Fail."""
        raise RuntimeError("there is nothing here")


def odd_array(rng: random.Random, values: Any) -> Any:
    """The same numbers or names in another container, type or shape; or some of them damaged."""
    for _ in range(rng.choice((1, 1, 2))):
        values = rng.choice(ARRAYS)(rng, values)
    return values


def _as_array(change: Callable[[random.Random, np.ndarray], Any]) -> Callable[..., Any]:
    def changed(rng: random.Random, values: Any) -> Any:
        try:
            array = np.asarray(values)
            return change(rng, array) if array.size else values
        except Exception:  # What cannot be changed so stays as it is.
            return values

    return changed


def _cell(rng: random.Random, array: np.ndarray) -> Any:
    cells = array.astype(object)
    cells[tuple(rng.randrange(size) for size in array.shape)] = rng.choice(
        (*VALUES, odd_value(rng))
    )
    return rng.choice((cells, cells.tolist()))


def _number(rng: random.Random, array: np.ndarray) -> Any:
    numbers = np.array(array, np.float64)
    places = rng.choice((..., 0, tuple(rng.randrange(size) for size in array.shape)))
    numbers[places] = float(rng.choice((np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 1e200, -3)))
    return numbers


def _ragged(rng: random.Random, array: np.ndarray) -> Any:
    rows = array.tolist()
    at = rng.randrange(len(rows))
    rows[at] = rows[at][:-1] if isinstance(rows[at], list) else [rows[at], 1]
    return rows


def _frame(rng: random.Random, array: np.ndarray) -> Any:
    import pandas as pd

    frame = pd.DataFrame(array) if array.ndim == 2 else pd.Series(array)
    return rng.choice(
        (
            lambda: frame,
            lambda: frame.convert_dtypes(),
            lambda: frame.astype("category"),
            lambda: frame.astype("string"),
            lambda: frame.mask(frame == frame.iloc[0]).convert_dtypes(),
            lambda: pd.concat([frame, frame], axis=rng.randrange(array.ndim)),
            lambda: frame.set_axis([7] * len(frame)),
            lambda: frame.astype("datetime64[ns]"),
            lambda: frame.iloc[:0],
            lambda: pd.DataFrame({"a": [frame] * len(frame)}),
            lambda: frame.T,
        )
    )()


def _polars(rng: random.Random, array: np.ndarray) -> Any:
    import polars

    frame = polars.DataFrame(array) if array.ndim == 2 else polars.Series(array)
    return rng.choice((frame, frame.clear(), frame.cast(polars.String)))


def _kind(rng: random.Random, array: np.ndarray) -> Any:
    names = ("f2", "f4", ">f8", "g", "c16", "?", "i1", "u8", "O", "U", "S8", "M8[s]", "m8[s]", "V8")
    return array.astype(np.dtype(rng.choice(names)))


def _jax(_: random.Random, array: np.ndarray) -> Any:
    import jax.numpy as jnp

    return jnp.asarray(array)


ARRAYS: tuple[Callable[[random.Random, Any], Any], ...] = (
    *map(
        _as_array,
        (
            _cell,
            _cell,
            _number,
            _number,
            _ragged,
            _frame,
            _polars,
            _kind,
            _kind,
            _jax,
            lambda rng, array: array.tolist(),
            lambda rng, array: tuple(map(tuple, array)) if array.ndim > 1 else tuple(array),
            lambda rng, array: array[: rng.randint(0, len(array))],
            lambda rng, array: np.concatenate([array, array], axis=-1),
            lambda rng, array: array[..., :1],
            lambda rng, array: array[..., :0],
            lambda rng, array: array.T,
            lambda rng, array: array[None],
            lambda rng, array: array[::-1, ...],
            lambda rng, array: array.ravel()[0],
            lambda rng, array: np.ma.masked_equal(array, array.ravel()[0]),
            lambda rng, array: np.asmatrix(array),
            lambda rng, array: np.rec.fromarrays([array.ravel(), array.ravel()]),
            lambda rng, array: np.broadcast_to(array[:1], array.shape),
            lambda rng, array: array * 1e300,
            lambda rng, array: array * 10.0 ** rng.randint(-320, 40),
            lambda rng, array: iter(array),
            lambda rng, array: dict(enumerate(array.tolist())),
            lambda rng, array: memoryview(np.ascontiguousarray(array)),
            lambda rng, array: [array] * 3,
            lambda rng, array: {"a": array, "b": array},
        ),
    ),
    lambda rng, values: odd_value(rng),
    lambda rng, values: Refusing(),
    lambda rng, values: None,
)
