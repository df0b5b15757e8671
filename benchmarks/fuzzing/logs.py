"""Logs of other tools and plain judgments, damaged as bytes, lines, JSON and arrays."""

import io
import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import cordial_ppl as cp
from cordial_ppl.tables import read_readings, write_table
from fuzzing.door import Door, attempt
from fuzzing.mutations import damage_bytes, damage_lines, damage_tree, mostly, odd_array
from fuzzing.tables import write_everywhere

RECORDED = Path(__file__).parents[2] / "tests" / "recorded"
STARS = ("1", "2", "3", "4", "5")
JUDGMENTS = "".join(
    json.dumps({"id": f"t{k}", "score": f"I would say {k}", "scores": {"tone": k}, "label": 6 - k})
    + "\n"
    for k in range(1, 6)
)
FIELDS = (
    {"answer": "score"},
    {"item": "id", "answer": "score", "label": "label"},
    {"item": ("id", "label"), "answer": "scores.*", "where": "label!=1"},
    {"answer": "*.*", "swapped": "score", "annotator": "scores.*"},
)
"""Namings of fields, of which few files have all."""

ROWS = 4
"""Rows of a log that are damaged: more would only take longer."""


@cache
def valid() -> dict[str, bytes]:
    """Return valid logs, cut to a few rows, by the path of their file."""
    contents = {"judgments.jsonl": JUDGMENTS.encode()}
    for path in sorted(RECORDED.rglob("*")):
        if path.suffix in (".json", ".jsonl", ".csv", ".npz"):
            contents[str(path.relative_to(RECORDED))] = _shorten(path)
    return contents


def write_log(rng: random.Random, folder: Path) -> Path:
    """Write a damaged log into the folder."""
    name = rng.choice(list(valid()))
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_damage(rng, path.suffix, valid()[name]))
    return path


def _shorten(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".jsonl":
        return b"".join(data.splitlines(keepends=True)[:ROWS])
    if path.suffix == ".json":
        tree = json.loads(data)
        tree = tree[:ROWS] if isinstance(tree, list) else tree
        if isinstance(tree, dict) and isinstance(tree.get("samples"), list):
            tree["samples"] = tree["samples"][:ROWS]
        return json.dumps(tree).encode()
    return data


def _damage(rng: random.Random, ending: str, data: bytes) -> bytes:
    how = rng.randrange(4)
    if how == 0:
        return damage_bytes(rng, data)
    if ending == ".npz":
        return _damage_arrays(rng, data)
    text = data.decode()
    if how == 1 or ending == ".csv":
        return damage_lines(rng, text).encode("utf-8", "surrogatepass")
    if ending == ".json":
        return _dump(rng, damage_tree(rng, json.loads(text)))
    rows = [json.loads(line) for line in text.splitlines()]
    if how == 2:
        row = rng.randrange(len(rows))
        rows[row] = damage_tree(rng, rows[row])
    else:
        rows = damage_tree(rng, rows)
        rows = rows if isinstance(rows, list) else [rows]
    return b"".join(_dump(rng, row) + b"\n" for row in rows)


def _dump(rng: random.Random, tree: Any) -> bytes:
    text = json.dumps(tree, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.02:
        text = text.replace('": ', '": ' + rng.choice(('{"a": ', "[")) * 100_000, 1)
    return text.encode("utf-8", "surrogatepass")


def _damage_arrays(rng: random.Random, data: bytes) -> bytes:
    with np.load(io.BytesIO(data)) as archive:
        arrays = dict(archive)
    name = rng.choice(list(arrays))
    file = io.BytesIO()
    try:
        arrays[rng.choice((name, "logits", "counts", "x"))] = np.asarray(
            odd_array(rng, arrays.pop(name))
        )
        np.savez(file, **arrays)
    except Exception:  # No array, or objects that refuse to be pickled.
        return damage_bytes(rng, data)
    return file.getvalue()


def _make(rng: random.Random, folder: Path) -> dict[str, Any]:
    return {
        "path": write_log(rng, folder),
        "options": mostly(rng, STARS, None, STARS[:3], STARS[::-1]),
        "round": mostly(rng, None, "split", "half-up"),
        "spell": mostly(rng, None, {"five": "5"}, {"\u0661": "1", "x": "9"}),
        "after": mostly(rng, None, "Score:", "[", ""),
        "reverse": rng.random() < 0.2,
        "explain": rng.choice((0, 3)),
        "labels": rng.random() < 0.7,
        **(rng.choice(FIELDS) if rng.random() < 0.3 else {}),
    }


def _enter(case: dict[str, Any], folder: Path) -> None:
    collected = cp.read(**case)
    if collected.labels.get("item_id"):
        write_everywhere(collected.labels, folder)
    if not collected.readings:
        return
    kind = next(name.partition("_")[0] for name in list(collected.readings)[::-1])
    values = np.stack([collected.readings[f"{kind}_{name}"] for name in collected.options])
    assert not np.isnan(values).any() and (values < np.inf).all(), "no readings"
    write_everywhere(collected.readings, folder)
    if not {"reader", "task"} & set(collected.readings):
        path = folder / "readings.jsonl"
        try:
            attempt(_write_and_read, path, collected)
        finally:
            path.unlink(missing_ok=True)


def _write_and_read(path: Path, collected: cp.Collected) -> None:
    write_table(path, collected.readings)
    table = read_readings(path, options=collected.options)
    assert table.item_ids == collected.readings["item_id"]


DOORS = [Door("logs", _make, _enter)]
"""Logs of tools, and judgments by their fields."""
