"""Growth of time with size: what is twice as large may take three times as long, and no more."""

import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import cordial_ppl as cp
from cordial_ppl.data.scale import Scale
from cordial_ppl.tables import read_labels, read_readings, read_several, write_table
from fuzzing.door import Door, attempt

FLOOR, FACTOR, SIZES = 0.5, 3.0, (500, 1000, 2000)
"""Seconds of CPU below which nothing is compared; times that a doubling may take; sizes."""


class Case(NamedTuple):
    """What grows, and the seed of its contents."""

    kind: str
    seed: int


def _rows(rng: random.Random, size: int, folder: Path) -> Iterator[Callable[[], Any]]:
    cells: dict[str, Any] = {"item_id": [f"t{i}" for i in range(size)]}
    cells |= {f"logit_{k}": np.random.default_rng(size).normal(size=size) for k in range(4)}
    path = folder / f"grown.{rng.choice(('csv', 'jsonl', 'parquet'))}"
    write_table(path, cells | {"reader": ["a", "b"] * (size // 2)})
    yield lambda: read_several([path])
    ids = [f"t{i % 7 if rng.random() < 0.5 else i}" for i in range(size)]
    who = [rng.choice("abcd") for _ in ids]
    write_table(path, {"item_id": ids, "label": [i % 4 for i in range(size)], "user": who})
    rule = rng.choice(("each", "mean", "mode"))
    yield lambda: read_labels(path, Scale(tuple("0123")), annotators=rule, round="half-up")


def _columns(rng: random.Random, size: int, folder: Path) -> Iterator[Callable[[], Any]]:
    readings = rng.choice(({"rating": [1, 2, 3, 4]}, {f"logit_{k}": [0.5] * 4 for k in range(4)}))
    fields: dict[str, Any] = rng.choice(({}, {"task": [*"aabb"]}, {"reader": [*"xyxy"]}))
    kind = rng.choice(("e_", "n_", "a b", "p"))
    others = {f"{kind}{k}": [k, rng.random(), None, "x"] for k in range(size)}
    path = folder / f"grown.{rng.choice(('csv', 'jsonl', 'parquet'))}"
    write_table(path, {"item_id": [*"ttuu"], **fields, **readings, **others})
    yield lambda: read_readings(path, options=tuple("1234"), task=rng.choice((None, "a")))
    yield lambda: read_several([path], options=tuple("1234"))
    yield lambda: cp.read(path, options=tuple("1234"))


def _options(rng: random.Random, size: int, folder: Path) -> Iterator[Callable[[], Any]]:
    size = size * 201 // SIZES[-1]
    logits = np.random.default_rng(size).normal(size=(60, size))
    labels = [rng.randrange(size) for _ in logits]
    names = rng.choice((range(size), [f"option {k}" for k in range(size)]))
    yield lambda: cp.RawReading(names).fit(logits, [names[k] for k in labels])
    path = folder / "grown.csv"
    cells = {"item_id": [*map(str, labels)]} | {f"p_{k}": [1 / size] * 60 for k in range(size)}
    write_table(path, cells)
    yield lambda: read_readings(path, id=["item_id"])


def _answers(rng: random.Random, size: int, folder: Path) -> Iterator[Callable[[], Any]]:
    parts = (
        "-",
        "*",
        " ",
        "\n",
        "1",
        "4/",
        "**",
        "Score: ",
        "rating",
        "(",
        '{"a": ',
        "`",
        "9.",
        "é",
    )
    loop = "".join(rng.choice(parts) for _ in range(rng.randint(1, 3)))
    text = rng.choice(("", "Score: 4\n", "I think ")) + loop * (20 * size // len(loop)) + "."
    path = folder / "grown.jsonl"
    row = {"id": "t", "score": text, "label": 3} | {f"f{k}": k for k in range(size)}
    path.write_text(json.dumps(row) + "\n")
    spelled = {"five": "5"} if rng.random() < 0.3 else None
    yield lambda: cp.read(path, item="id", answer="score", options="12345", spell=spelled)
    yield lambda: cp.read(path)


KINDS = {"rows": _rows, "columns": _columns, "options": _options, "answers": _answers}


def _make(rng: random.Random, folder: Path) -> Case:
    del folder
    return Case(rng.choice(list(KINDS)), rng.randrange(1 << 30))


def _enter(case: Case, folder: Path) -> None:
    before = _measure(case, SIZES[0], folder)
    for size in SIZES[1:]:
        after = _measure(case, size, folder)
        for _ in range(2):  # Once more, for the machine may have been busy.
            if (after > FACTOR * np.maximum(before, FLOOR)).any():
                before = np.maximum(before, _measure(case, size // 2, folder))
                after = np.minimum(after, _measure(case, size, folder))
        slow = after > FACTOR * np.maximum(before, FLOOR)
        assert not slow.any(), f"{case}: from {before} to {after} s at {size}"
        before = after


def _measure(case: Case, size: int, folder: Path) -> np.ndarray:
    """Measure seconds of CPU of each use of an input of a size."""
    seconds = []
    try:
        for use in KINDS[case.kind](random.Random(case.seed), size, folder):
            begun = time.process_time()
            attempt(use)
            seconds.append(time.process_time() - begun)
    finally:
        for path in folder.glob("grown.*"):
            path.unlink()
    return np.array(seconds)


DOORS = [Door("growth of time with size", _make, _enter)]
"""How long what is larger takes."""
