"""Tables of readings, labels, texts and predictions as CSV, JSON Lines and Parquet."""

import csv
import datetime
import io
import json
import random
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cordial_ppl.data.scale import Scale
from cordial_ppl.logs.ask.prompt import Prompt
from cordial_ppl.logs.ask.questions import read_examples, read_questions
from cordial_ppl.tables import (
    Predictions,
    list_values,
    read_labels,
    read_provenance,
    read_readings,
    read_several,
    write_table,
)
from cordial_ppl.tables.files import read_columns
from fuzzing.door import Door, attempt
from fuzzing.mutations import damage_bytes, damage_lines, damage_table, mostly

ENDINGS = ("csv", "jsonl", "parquet")
ROWS = 8
OPTIONS = ("1", "2", "3")
IDS = [f"t{i}" for i in range(ROWS)]


def readings(rng: random.Random) -> dict[str, list]:
    """A valid table of readings of any kind."""
    kind = rng.choice(("logit", "logit", "logprob", "p", "n", "rating"))
    numbers = np.random.default_rng(rng.randrange(2**32)).dirichlet(np.ones(3), ROWS)
    table: dict[str, list] = {"item_id": list(IDS)}
    if kind == "rating":
        table["rating"] = [rng.choice(OPTIONS) for _ in IDS]
    else:
        values = {"p": numbers, "n": np.round(numbers * 20) + 1}.get(kind, np.log(numbers))
        table |= {f"{kind}_{o}": values[:, k].tolist() for k, o in enumerate(OPTIONS)}
    if rng.random() < 0.3:
        half = rng.choice((["a", "b"] * ROWS, ["a"] * ROWS))
        table[rng.choice(("reader", "task"))] = half[:ROWS]
    if rng.random() < 0.5:
        table |= {"length": [10.0 * i for i in range(ROWS)], "note": ["x, y"] * ROWS}
        table["reader_model"] = ["gpt"] * ROWS
    return table


def labels(rng: random.Random) -> dict[str, list]:
    """A valid table of labels."""
    table: dict[str, list] = {"item_id": IDS[:6], "label": [rng.choice(OPTIONS) for _ in IDS[:6]]}
    if rng.random() < 0.3:
        table |= {"item_id": IDS[:3] * 2, "user": [*"aaabbb"]}
    if rng.random() < 0.3:
        table["label"] = [rng.choice(("1", 1.5, "2,5", 3)) for _ in IDS[:6]]
    if rng.random() < 0.3:
        table["weight"] = [rng.choice((1, 0.5, 2)) for _ in IDS[:6]]
    return table | ({"task": ["a"] * 6} if rng.random() < 0.3 else {})


def texts(rng: random.Random) -> dict[str, list]:
    """A valid table of texts."""
    return {**labels(rng), "text": ["very good", "so-so", "bad"] * 2}


def predictions(rng: random.Random) -> dict[str, list]:
    """A valid table of probabilities that were made elsewhere."""
    table: dict[str, list] = {"item_id": list(IDS), "n": [5] * ROWS, "draw": [0] * ROWS}
    return table | {f"p_{option}": [1 / 3] * ROWS for option in OPTIONS}


def write_damaged(rng: random.Random, table: dict[str, list], path: Path) -> None:
    """Write a table with damage in its cells, its bytes, or both, in the format of its ending."""
    columns = list(table.items())
    how = rng.randrange(8)
    if how < 5:
        columns = damage_table(rng, table)
    data = _ENCODE[path.suffix[1:]](rng, columns)
    if how in (4, 5, 6):
        data = damage_bytes(rng, data)
    elif how == 7 and path.suffix != ".parquet":
        data = damage_lines(rng, data.decode("utf-8", "surrogatepass")).encode(
            "utf-8", "surrogatepass"
        )
    path.write_bytes(data)


def write_whole(rng: random.Random, table: dict[str, list], path: Path) -> None:
    """Write a table in the format of its ending."""
    path.write_bytes(_ENCODE[path.suffix[1:]](rng, list(table.items())))


def _csv(rng: random.Random, columns: list[tuple[str, list]]) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator=rng.choice(("\n", "\n", "\r\n")))
    writer.writerow([name for name, _ in columns])
    cells = [[_as_cell(cell) for cell in part] for _, part in columns]
    writer.writerows(zip(*cells, strict=False))
    return file.getvalue().encode("utf-8", "surrogatepass")


def _as_cell(cell: Any) -> Any:
    return "" if cell is None else json.dumps(cell) if isinstance(cell, dict | list) else cell


def _json(rng: random.Random, columns: list[tuple[str, list]]) -> bytes:
    lines = []
    for row in zip(*(part for _, part in columns), strict=False):
        pairs = zip((name for name, _ in columns), row, strict=True)
        if rng.random() < 0.02:
            pairs = list(pairs)[1:]
        # By hand, for two keys may be alike.
        inside = ", ".join(f"{json.dumps(name)}: {json.dumps(cell)}" for name, cell in pairs)
        lines.append(f"{{{inside}}}\n")
    if rng.random() < 0.02 and lines:
        lines[-1] = lines[-1].replace(":", ": " + '{"a": [' * 50_000, 1)
    return "".join(lines).encode("utf-8", "surrogatepass")


def _parquet(rng: random.Random, columns: list[tuple[str, list]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = [_arrow(rng, part) for _, part in columns]
    length = min(map(len, arrays), default=0)
    names = [name.encode("utf-8", "replace").decode() for name, _ in columns]
    table = pa.Table.from_arrays([array.slice(0, length) for array in arrays], names)
    file = io.BytesIO()
    packing = rng.choice(("snappy", "none", "zstd"))
    pq.write_table(table, file, use_dictionary=rng.random() < 0.5, compression=packing)
    return file.getvalue()


def _arrow(rng: random.Random, cells: list) -> Any:
    import pyarrow as pa

    def plain() -> Any:
        try:
            array = pa.array(cells)
            # Parquet has no objects without a field.
            return pa.array(list(map(str, cells))) if _has_empty_struct(array.type) else array
        except (pa.ArrowException, OverflowError, UnicodeEncodeError):
            shown = [None if cell is None else str(cell) for cell in cells]
            return pa.array([text and text.encode("utf-8", "replace").decode() for text in shown])

    if rng.random() < 0.9:
        return plain()
    kinds = (
        lambda: plain().dictionary_encode(),
        lambda: pa.array([Decimal("0.3")] * len(cells)),
        lambda: pa.array([datetime.date(2025, 1, 1)] * len(cells)),
        lambda: pa.array([datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)] * len(cells)),
        lambda: pa.array([datetime.timedelta(1)] * len(cells)),
        lambda: pa.array([datetime.time(1)] * len(cells)),
        lambda: pa.array([2**50] * len(cells)).cast(pa.timestamp("ms")),
        lambda: pa.array([b"\xff\x00"] * len(cells)),
        lambda: pa.array(np.ones(len(cells), np.float16)),
        lambda: pa.array(np.full(len(cells), 2**64 - 1, np.uint64)),
        lambda: pa.nulls(len(cells)),
        lambda: pa.array([{"a": 1}] * len(cells)),
        lambda: pa.array([[1.0, None]] * len(cells)),
        lambda: pa.array([[("a", 1)]] * len(cells), pa.map_(pa.string(), pa.int32())),
        lambda: plain().cast(pa.large_string()),
        lambda: plain().cast(pa.float32()),
        lambda: plain().cast(pa.decimal128(20, 5)),
    )
    try:
        return rng.choice(kinds)()
    except (pa.ArrowException, ValueError):
        return plain()


def _has_empty_struct(kind: Any) -> bool:
    import pyarrow as pa

    inside = [kind.field(i).type for i in range(kind.num_fields)]
    return (pa.types.is_struct(kind) and not inside) or any(map(_has_empty_struct, inside))


_ENCODE = {"csv": _csv, "jsonl": _json, "parquet": _parquet}


def _make_readings(ending: str, rng: random.Random, folder: Path) -> dict[str, Any]:
    path = folder / f"readings.{ending}"
    table = readings(rng)
    write_damaged(rng, table, path)
    odd = "1", ("1", "2"), ("3", "2", "1"), (), ("1", "1", "2"), [1, 2, 3], None
    return {
        "path": path,
        "options": mostly(rng, OPTIONS, *odd),
        "reader": mostly(rng, "a" if "reader" in table else None, "a", "c", "", None, "task=a"),
        "id": mostly(rng, (), ("p_1",), ("note", "item_id")),
        "task": mostly(rng, "a" if "task" in table else None, "a", "c", "", None),
    }


def _enter_readings(case: dict[str, Any], folder: Path) -> None:
    path = case["path"]
    for field in ("reader", "task"):
        attempt(list_values, path, field)
    table = read_readings(**case)
    rows, size = table.logits.shape
    assert np.isfinite(table.logits).all() and abs(table.logits.mean(axis=1)).max() < 1e-6
    assert len(set(table.item_ids)) == len(table.item_ids) == rows and size == table.scale.size
    assert [table.columns.where(i) for i in range(rows)]
    read_provenance(table.columns)
    for name in table.extras:
        attempt(table.covariates, [name])
    write_everywhere({"item_id": table.item_ids, "p_1": np.ones(rows)} | table.extras, folder)


def write_everywhere(columns: dict[str, Any], folder: Path) -> None:
    """Write columns in every format, and find the same texts in what was written."""
    for ending in ENDINGS:
        out = folder / f"out.{ending}"
        try:
            if attempt(write_table, out, columns) is None and out.exists():
                ids = [str(cell) for cell in read_columns(out).cells["item_id"]]
                assert ids == columns["item_id"], f"{ending} holds other texts"
        finally:
            out.unlink(missing_ok=True)


def _make_labels(ending: str, rng: random.Random, folder: Path) -> dict[str, Any]:
    path = folder / f"labels.{ending}"
    write_damaged(rng, labels(rng), path)
    return {
        "path": path,
        "scale": Scale(mostly(rng, OPTIONS, ("a", "b", "c"), ("0", "1", "2"))),
        "task": mostly(rng, None, "a", "c", "", "task=a", "task"),
        "id": mostly(rng, (), ("user",), ("nothing", "label")),
        "label": mostly(rng, (), ("label", "user"), ("item_id",), ("task", "task")),
        "annotator": mostly(rng, None, "user", "item_id", "nothing"),
        "annotators": mostly(rng, "each", "mean", "median", "mode"),
        "round": rng.choice((None, "half-up", "nearest-even", "split", "up")),
    }


def _enter_labels(case: dict[str, Any], folder: Path) -> None:
    table = read_labels(**case)
    assert len(table.labels) == len(table.item_ids) > 0
    assert len(table.weights) == len(table.labels) and (table.weights > 0).all()
    assert 0 <= table.labels.min() <= table.labels.max() < case["scale"].size
    write_everywhere({"item_id": table.item_ids} | table.extras, folder)


def _make_several(rng: random.Random, folder: Path) -> dict[str, Any]:
    paths = [folder / f"{name}.{rng.choice(ENDINGS)}" for name in "xyz"[: rng.randint(1, 3)]]
    for path in paths:
        table = readings(rng)
        if rng.random() < 0.4:
            write_damaged(rng, table, path)
        else:
            write_whole(rng, table, path)
    return {
        "paths": paths,
        "options": mostly(rng, OPTIONS, None),
        "readers": mostly(rng, None, ["x"], ["y", "a"], [], ["x", "x"]),
        "task": mostly(rng, None, "a", ""),
        "gaps": rng.random() < 0.5,
    }


def _enter_several(case: dict[str, Any], folder: Path) -> None:
    table = read_several(**case)
    assert table.logits.shape == (len(table.item_ids), len(table.readers), table.scale.size)
    assert not np.isinf(table.logits).any()
    write_everywhere({"item_id": table.item_ids} | table.extras, folder)


def _make_elsewhere(rng: random.Random, folder: Path) -> Path:
    path = folder / f"elsewhere.{rng.choice(ENDINGS)}"
    write_damaged(rng, predictions(rng), path)
    return path


def _enter_elsewhere(path: Path, folder: Path) -> None:
    table, scale = Predictions(path), Scale(OPTIONS)
    table.check(scale)
    table.probs(IDS, scale, task="a", reader="b", n=5, draw=0)


def _make_texts(rng: random.Random, folder: Path) -> tuple[Path, list[str]]:
    path = folder / f"texts.{rng.choice(ENDINGS)}"
    write_damaged(rng, texts(rng), path)
    return path, mostly(rng, ["text"], [], ["text", "none"])


def _enter_texts(case: tuple[Path, list[str]], folder: Path) -> None:
    path, needed = case
    prompt = Prompt(Scale(OPTIONS), "".join(f"{{{name}}}" for name in needed))
    attempt(read_examples, path, Scale(OPTIONS), prompt.columns, 3)
    questions = read_questions(path, prompt)
    assert all(isinstance(text, str) for cells in questions.fields for text in cells.values())
    extras, _ = questions.pass_on({"item_id": questions.item_ids})
    write_everywhere({"item_id": questions.item_ids} | extras, folder)


DOORS = [
    *(
        Door(f"readings, {name}", partial(_make_readings, ending), _enter_readings)
        for ending, name in zip(ENDINGS, ("CSV", "JSON Lines", "Parquet"), strict=True)
    ),
    *(
        Door(f"labels, {name}", partial(_make_labels, ending), _enter_labels)
        for ending, name in zip(ENDINGS, ("CSV", "JSON Lines", "Parquet"), strict=True)
    ),
    Door("several readers' tables", _make_several, _enter_several),
    Door("probabilities made elsewhere", _make_elsewhere, _enter_elsewhere),
    Door("tables of texts", _make_texts, _enter_texts),
]
"""What comes in as a table."""
