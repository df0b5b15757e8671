"""Logs of other tools, damaged as bytes, lines and JSON; and what a server answers."""

import io
import json
import random
from functools import cache, partial
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError
from cordial_ppl.logs import FORMATS, collect, find_format
from cordial_ppl.logs.answers import as_pattern
from cordial_ppl.logs.ask import cache as answers
from cordial_ppl.logs.naming import Condition
from cordial_ppl.logs.responses import read_answers
from cordial_ppl.logs.rows import STUMBLES
from cordial_ppl.tables import read_readings
from fuzzing.door import Door, attempt
from fuzzing.mutations import damage_bytes, damage_lines, damage_tree, mostly, odd_array
from fuzzing.tables import write_everywhere

LOGS = Path(__file__).parents[2] / "tests" / "logs"
STARS = ("1", "2", "3", "4", "5")
_JUDGMENTS = run_path(str(LOGS.parent / "judgments.py"))["FILES"]
FIELDS = (
    {"answer": ("score",)},
    {"item": ("id", "turn ?"), "answer": ("*.score",), "label": ("label",)},
    {"answer": ("scores.*",), "label": ("scores.*",), "annotator": "scores.*"},
    {
        "item": ("question_id",),
        "answer": ("*.*",),
        "swapped": ("score",),
        "where": (Condition.of("turn!=1"),),
    },
)
"""Namings that few files have the fields of."""

ROWS = 4
"""Rows of a log that are kept: more would only take longer."""


@cache
def valid(form: str) -> list[tuple[str, bytes]]:
    """Names and contents of valid logs of a format, cut to a few rows."""
    found = []
    for path in sorted(LOGS.rglob("*")):
        if path.suffix not in (".json", ".jsonl", ".csv", ".npz", ".eval"):
            continue
        if path.name == "reviews.jsonl" or path.name.startswith("results_"):
            continue
        if find_format(path).name == form:
            found.append((str(path.relative_to(LOGS)), _shortened(path)))
    made = (make() for make in _JUDGMENTS.get(form, ()))
    return found + [(file.name, file.text.encode()) for file in made]


def _shortened(path: Path) -> bytes:
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


def _make(form: str, rng: random.Random, folder: Path) -> dict[str, Any]:
    name, data = rng.choice(valid(form))
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_damaged(rng, name, data))
    if rng.random() < 0.2 and form == "lm-eval":
        for beside in (LOGS / name).parent.glob("results_*"):
            path.with_name(beside.name).write_bytes(_damaged(rng, "x.json", beside.read_bytes()))
    return {
        "path": path,
        "form": mostly(rng, rng.choice(("auto", form)), *FORMATS),
        "scale": mostly(rng, None if form == "lm-eval" else STARS, None, STARS[:3], STARS[::-1]),
        "given": mostly(rng, {}, *FIELDS),
        "round": mostly(rng, None, "split", "half-up"),
        "spellings": mostly(rng, None, {"five": "5"}, {"\u0661": "1", "x": "9"}),
        "after": mostly(rng, None, "Score:", r"(a+)+$", "[", ""),
        "reverse": rng.random() < 0.2,
        "task": mostly(rng, None, "tone"),
        "reader": mostly(rng, None, "judge"),
        "explain": rng.choice((0, 3)),
        "labels": rng.random() < 0.7,
    }


def _damaged(rng: random.Random, name: str, data: bytes) -> bytes:
    how = rng.randrange(4)
    if how == 0:
        return damage_bytes(rng, data)
    ending = Path(name).suffix
    if ending == ".npz":
        return _arrays(rng, data)
    if ending == ".eval":
        return damage_bytes(rng, data)
    text = data.decode()
    if how == 1 or ending == ".csv":
        return damage_lines(rng, text).encode("utf-8", "surrogatepass")
    if ending == ".json":
        return _dump(rng, damage_tree(rng, json.loads(text)))
    rows = [json.loads(line) for line in text.splitlines()]
    if how == 2:
        at = rng.randrange(len(rows))
        rows[at] = damage_tree(rng, rows[at])
    else:
        rows = damage_tree(rng, rows)
        rows = rows if isinstance(rows, list) else [rows]
    return b"".join(_dump(rng, row) + b"\n" for row in rows)


def _dump(rng: random.Random, tree: Any) -> bytes:
    text = json.dumps(tree, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.02:
        text = text.replace('": ', '": ' + rng.choice(('{"a": ', "[")) * 100_000, 1)
    return text.encode("utf-8", "surrogatepass")


def _arrays(rng: random.Random, data: bytes) -> bytes:
    with np.load(io.BytesIO(data)) as found:
        arrays = dict(found)
    name = rng.choice(list(arrays))
    changed = odd_array(rng, arrays[name])
    kind = rng.randrange(4)
    if kind == 0:
        arrays[rng.choice(("logits", "probs", "counts", "logprobs", "x"))] = arrays[name]
    elif kind == 1:
        del arrays[name]
    else:
        try:
            arrays[name] = np.asarray(changed)
        except Exception:  # What is no array stays away.
            arrays.pop(name)
    file = io.BytesIO()
    try:
        rng.choice((np.savez, np.savez_compressed))(file, **arrays)
    except Exception:  # Objects that refuse to be pickled.
        return damage_bytes(rng, data)
    return file.getvalue()


def _enter(case: dict[str, Any], folder: Path) -> None:
    settings = {name: case[name] for name in ("spellings", "reverse", "task", "reader", "round")}
    settings |= {name: case[name] for name in ("explain", "labels")}
    pattern = as_pattern(case["after"])
    scale = case["scale"] and Scale(case["scale"])
    found = collect(
        find_format(case["path"], case["form"], case["given"]).read(case["path"]),
        scale=scale,
        before=pattern,
        **settings,
    )
    if found.labels.get("item_id"):
        write_everywhere(found.labels, folder)
    if not found.readings:
        return
    kind = next(name.partition("_")[0] for name in list(found.readings)[::-1])
    values = np.stack([found.readings[f"{kind}_{own}"] for own in found.options])
    assert not np.isnan(values).any() and (values < np.inf).all(), "no readings"
    write_everywhere(found.readings, folder)
    if not {"reader", "task"} & set(found.readings):
        path = folder / "readings.jsonl"
        try:
            attempt(_write_and_read, path, found)
        finally:
            path.unlink(missing_ok=True)


def _write_and_read(path: Path, found: Any) -> None:
    from cordial_ppl.tables import write_table

    write_table(path, found.readings)
    assert read_readings(path, options=found.options).item_ids == found.readings["item_id"]


@cache
def completions() -> list[dict[str, Any]]:
    """Valid answers of a server."""
    rows = (LOGS / "openai_chat.jsonl").read_text().splitlines()[:ROWS]
    plain = {"choices": [{"message": {"content": "4"}, "finish_reason": "stop"}], "model": "m"}
    found = [json.loads(row) for row in rows]
    return [*(row.get("response", row) for row in found), plain]


def _make_answer(rng: random.Random, folder: Path) -> str:
    del folder
    body = json.dumps(damage_tree(rng, rng.choice(completions())))
    if rng.random() < 0.2:
        return damage_bytes(rng, body.encode()).decode("utf-8", "replace")
    return body


def _enter_answer(text: str, folder: Path) -> None:
    try:
        body = json.loads(text)
        read_answers(body)
    except STUMBLES as error:
        # `Server` says that this is no completion.
        raise InputError(f"an answer that is no completion: {error or type(error)}") from error
    json.dumps(body)


def _make_kept(rng: random.Random, folder: Path) -> Path:
    path = folder / "answers.sqlite"
    with answers.open_cache(path) as kept:
        for number, body in enumerate(completions()):
            kept.put(
                str(number),
                answers.Answer({"temperature": 0.0, "max_tokens": 16}, body, "2025-12-31"),
            )
    path.write_bytes(damage_bytes(rng, path.read_bytes()))
    return path


def _enter_kept(path: Path, folder: Path) -> None:
    try:
        with answers.open_cache(path) as kept:
            for number in range(len(kept)):
                kept.get(str(number))
            kept.put("x", answers.Answer({}, completions()[0], "2025-12-31"))
    finally:
        for name in ("-wal", "-shm", "-journal"):
            path.with_name(path.name + name).unlink(missing_ok=True)


DOORS = [
    *(Door(f"logs, {form}", partial(_make, form), _enter) for form in FORMATS),
    Door("answers of a server", _make_answer, _enter_answer),
    Door("answers that were kept", _make_kept, _enter_kept),
]
"""Logs by format, and what a model that is asked says."""
