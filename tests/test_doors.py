"""Doors: whatever comes in gives a right answer, or one line that says what is wrong.

What is valid comes in after damage to its cells, bytes, JSON or arrays. Nothing else than a
`CordialError` is raised, it names the file, warnings are the package's own, and no file is left.
"""

import copy
import csv
import io
import json
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cordial_ppl as cp
from cordial_ppl.data.scale import Scale
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.runtime import storage
from cordial_ppl.tables import read_columns, read_labels, read_readings, read_several, write_table

FINE = HealthCheck.function_scoped_fixture, HealthCheck.too_slow
DAY = settings(max_examples=12, derandomize=True, database=None, suppress_health_check=FINE)
NIGHT = settings(DAY, max_examples=1500, derandomize=False, print_blob=True)

STARS = ("1", "2", "3", "4", "5")
TEXTS = reviews(32, seed=1)
LOGITS, TEST = TEXTS.logits[:12], TEXTS.logits[20:26]
NAMES = [STARS[k] for k in TEXTS.labels[:12]]
PROBS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
USERS = ["ann", "bob", "cy"] * 4
IDS = [f"t{row}" for row in range(8)]
SCALE = Scale(("1", "2", "3"))
BASELINES = cp.RawReading, cp.calibrators.LabelHistogram, cp.BatchCalibration, cp.TemperatureScaling
ENDINGS = ("csv", "jsonl", "parquet")

NUMBERS = (0, -1, 2, 7, 0.5, 1e30, -1e308, 5e-324, 2**63, 10**400, np.nan, np.inf, -np.inf)
WORDS = (
    *("", " ", "1", "01", "1.0", "1e999", "1_000", "1,5", "nan", "None", "true", "\u0661", "%s{}"),
    *("e\u0301", "\u22121", "\x00", "\ufeff", "\ud800", "a\nb", "a\rb", '"', "a,b", "=1+1", "\\"),
    *("[/x]", "item_id", "label", "logit_1", "p_", "reader", "task", "9" * 5000),
)
ODD = (None, True, *NUMBERS, *WORDS, [], {}, [[]], {"a": 1}, [1, "1"], {"": {}})
"""What may stand where something else should, as JSON has it."""

MARKS = b"\0", b"\xff", b"\xef\xbb\xbf", b"\r\n", b'"', b",", b"{", b"[", b"NaN", b"1e999", b"PAR1"


class Draw:
    """Choices of a case, which hypothesis makes and shrinks."""

    def __init__(self, data: st.DataObject):
        self.number: Callable[[int], int] = lambda size: data.draw(st.integers(0, size - 1))

    def one(self, *choices: Any) -> Any:
        return choices[self.number(len(choices))]

    def odd(self) -> Any:
        return copy.deepcopy(self.one(*ODD))


def damage_bytes(draw: Draw, data: bytes) -> bytes:
    """Flip, insert, double, remove or convert some bytes."""
    start = draw.number(len(data) + 1)
    end = start + draw.one(1, 2, 8, 100)
    head, part, tail = data[:start], data[start:end], data[end:]
    parts = part * 3, b"", bytes(byte ^ 1 for byte in part), draw.one(*MARKS) + part
    utf16 = data.decode("utf-8", "replace").encode("utf-16")
    whole = head, utf16, data.replace(b"\n", b"\r"), b"\xef\xbb\xbf" + data, b""
    return draw.one(*(head + each + tail for each in parts), *whole)


def damage_tree(draw: Draw, tree: Any) -> Any:
    """Put something else at places of lists and objects, rename it, or take it away."""
    root = [copy.deepcopy(tree)]
    for _ in range(1 + draw.number(3)):
        parent, key = root, 0
        while isinstance(parent[key], dict | list) and parent[key] and draw.number(4):
            parent = parent[key]
            key = draw.one(*(parent if isinstance(parent, dict) else range(len(parent))))
        change = draw.number(5)
        if change == 0 and parent is not root:
            del parent[key]
        elif change == 1 and isinstance(parent, dict):
            parent[draw.one(*WORDS)] = parent.pop(key)
        else:
            parent[key] = draw.one([parent[key]], str(parent[key]), draw.odd(), draw.odd())
    return root[0]


def damage_cells(draw: Draw, table: dict[str, list]) -> list[tuple[str, list]]:
    """Change cells, rows, columns and names of a table, of which two may then be alike."""
    columns = [(name, [*cells]) for name, cells in table.items()]
    for _ in range(draw.number(3)):
        at, row = draw.number(len(columns)), draw.number(6)
        name, cells = columns[at]
        change = draw.number(8)
        if change == 0 and len(columns) > 1:
            del columns[at]
        elif change == 1:
            columns.insert(0, (name, cells))
        elif change == 2:
            columns[at] = draw.one(*WORDS, "p_1", "n_1", "rating", "weight"), cells
        elif change == 3:
            columns[at] = name, [draw.odd()] * len(cells)
        elif change == 4:
            columns = [(title, part[:row]) for title, part in columns]
        elif change == 5 and row < len(cells):
            columns = [(title, [*part, part[row]]) for title, part in columns]
        elif row < len(cells):
            cells[row] = draw.odd()
    return columns


def damage_array(draw: Draw, values: Any) -> Any:
    """Take another container, type or shape for numbers or names; or damage some of them."""
    array = np.asarray(values)
    cells = array.astype(object)
    cells[tuple(map(draw.number, array.shape))] = draw.odd()
    ragged = array.tolist()
    ragged[-1] = ragged[-1][:-1] if array.ndim > 1 else [ragged[-1]]
    kind = draw.one("f2", "f4", ">f8", "c16", "?", "i1", "O", "U", "S8", "M8[s]", "V8")
    with warnings.catch_warnings(action="ignore"), suppress(ValueError, TypeError):
        array = draw.one(array, array.astype(np.dtype(kind)))
    frame = pl.DataFrame(values) if array.ndim == 2 else pl.Series(values)
    return draw.one(
        *(array, cells, cells.tolist(), ragged, array.tolist(), frame, [array] * 3),
        *(array[:0], array[..., :1], array[..., :0], array.T, array[None], array[::-1], array[:-1]),
        *(array.ravel()[0], np.concatenate([array, array], axis=-1), frame.cast(pl.String)),
        *(np.ma.masked_equal(values, np.ravel(values)[0]), None, object(), iter(ragged)),
        *({"a": array}, Refusing(), draw.odd()),
    )


class Refusing:
    """An object that fails whatever is asked of it."""

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise RuntimeError("this is no array")

    def __len__(self) -> int:
        return 3

    def __getitem__(self, _: Any) -> Any:
        raise RuntimeError("there is nothing here")


def attempt[T](function: Callable[[], T], named: str = "") -> T | None:
    """Call what may refuse; its result, or None after an error in one line that names a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", cp.CordialWarning)
        try:
            return function()
        except cp.CordialError as error:
            text = str(error)
            assert text.strip() and "\n" not in text and len(text) < 5000, text
            assert named in text, f"{text!r} does not name {named}"
            return None


def assert_probabilities(probs: Any) -> None:
    """Hold predictions to what probabilities are."""
    probs = np.asarray(probs)
    assert probs.ndim == 2 and np.isfinite(probs).all() and (probs >= 0).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1, rtol=0, atol=1e-6)


def encode(columns: list[tuple[str, list]], ending: str) -> bytes:
    """Write a table, of which names may be alike and cells of any type."""
    names, parts = zip(*columns, strict=True)
    rows = [*zip(*parts, strict=True)]
    if ending == "csv":
        text = io.StringIO(newline="")
        csv.writer(text).writerows([names, *rows])
        return text.getvalue().encode("utf-8", "surrogatepass")
    if ending == "jsonl":
        # By hand, for two keys may be alike.
        pairs = (zip(names, row, strict=True) for row in rows)
        objects = (", ".join(f"{json.dumps(n)}: {json.dumps(c)}" for n, c in row) for row in pairs)
        return "".join(f"{{{inside}}}\n" for inside in objects).encode()
    file = io.BytesIO()
    pl.DataFrame([as_column(*column) for column in dict(columns).items()]).write_parquet(file)
    return file.getvalue()


def as_column(name: str, cells: list) -> pl.Series:
    """Make a column of the type that its cells have, or of text."""
    name = name.encode("utf-8", "replace").decode()
    with suppress(TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        column = pl.Series(name, cells)
        if not column.dtype.is_object() and "Struct" not in str(column.dtype):
            return column
    return pl.Series(name, [str(cell).encode("utf-8", "replace").decode() for cell in cells])


def write_damaged(draw: Draw, table: dict[str, list], path: Path) -> None:
    """Write a table with damage in its cells or its bytes."""
    content = encode(damage_cells(draw, table), path.suffix[1:])
    path.write_bytes(content if draw.number(3) else damage_bytes(draw, content))


def write_everywhere(columns: dict[str, Any], folder: Path) -> None:
    """Write columns in every format, and find the same texts in what was written."""
    for ending in ENDINGS:
        out = folder / f"out.{ending}"
        attempt(partial(write_table, out, columns), out.name)
        if out.exists():
            assert [str(cell) for cell in read_columns(out).cells["item_id"]] == columns["item_id"]
            out.unlink()


def make_readings(draw: Draw) -> dict[str, list]:
    """Make a valid table of readings of any kind."""
    kind = draw.one("logit", "logprob", "p", "n", "rating")
    probs = np.random.default_rng(0).dirichlet(np.ones(3), len(IDS))
    values = {"p": probs, "n": np.round(probs * 20) + 1}.get(kind, np.log(probs))
    cells = {f"{kind}_{option}": values[:, k].tolist() for k, option in enumerate("123")}
    cells = {"rating": ["1", "2", "3", "3"] * 2} if kind == "rating" else cells
    notes = {"reader": ["a", "b"] * 4, "length": [1.5] * 8, "note": ["x, y"] * 8}
    return {"item_id": IDS} | cells | draw.one({}, notes)


def enter_readings(draw: Draw, folder: Path) -> None:
    path, valid = folder / f"r.{draw.one(*ENDINGS)}", make_readings(draw)
    write_damaged(draw, valid, path)

    def use() -> None:
        reader = "a" if "reader" in valid else None
        table = read_readings(path, reader=reader, options=SCALE.options)
        logits = table.logits[~table.unread]
        assert np.isfinite(logits).all() and (abs(logits.mean(axis=1)) < 1e-6).all()
        assert np.isnan(table.logits[table.unread]).all()
        assert len(set(table.item_ids)) == len(table.item_ids) == len(table.logits)
        assert table.logits.shape[1] == table.scale.size == 3
        for name in table.extras:
            attempt(partial(table.covariates, [name]))
        write_everywhere({"item_id": table.item_ids, **table.extras}, folder)

    attempt(use, path.name)


def enter_labels(draw: Draw, folder: Path) -> None:
    path = folder / f"r.{draw.one(*ENDINGS)}"
    valid: dict[str, list] = {"item_id": IDS[:3] * 2, "label": ["1", 1.5, "2,5", 3, 1, 2]}
    valid |= {"annotator": [*"aaabbb"], "weight": [1, 0.5, 2, 1, 1, 1]}
    write_damaged(draw, valid, path)
    how, who = draw.one("split", "half-up", "nearest-even", None), draw.one("each", "median")

    def use() -> None:
        table = read_labels(path, SCALE, round=how, annotators=who)
        assert len(table.labels) == len(table.item_ids) == len(table.weights) > 0
        assert (table.weights > 0).all() and 0 <= table.labels.min() <= table.labels.max() < 3
        write_everywhere({"item_id": table.item_ids, **table.extras}, folder)

    attempt(use, path.name)


def enter_several(draw: Draw, folder: Path) -> None:
    path, other = folder / f"r.{draw.one(*ENDINGS)}", folder / "other.csv"
    write_damaged(draw, make_readings(draw), path)
    other.write_bytes(encode([*make_readings(draw).items()], "csv"))

    def use() -> None:
        table = read_several(draw.one([path], [path, other]), options=SCALE.options)
        assert table.logits.shape == (len(table.item_ids), len(table.readers), 3)
        assert not np.isinf(table.logits).any()
        write_everywhere({"item_id": table.item_ids, **table.extras}, folder)

    attempt(use)


SAVED: dict[str, Callable[[], Any]] = {
    "stack": lambda: cp.LogitStack(STARS).fit(LOGITS, NAMES),
    "judge": lambda: cp.Cordial(STARS, inference="mode").fit(LOGITS, NAMES),
    "users": lambda: cp.UserShift(STARS, sigma=0.5).fit(PROBS, NAMES, USERS),
    "prior": lambda: cp.priors.shipped_prior().leave_out(cp.priors.shipped_prior().tasks[2:]),
}


@cache
def saved(kind: str, path: Path) -> bytes:
    SAVED[kind]().save(path)
    return path.read_bytes()


def reseal(draw: Draw, path: Path) -> None:
    """Change settings or arrays of a saved file, and write it as if that were right."""
    kind = storage.find_kind(path)
    meta, arrays = storage.read(path, kind)
    if not arrays or draw.number(2):
        meta = damage_tree(draw, meta)
    else:
        name = draw.one(*sorted(arrays))
        array = arrays[name]
        filled = np.full(array.shape, draw.one(0.0, -1.0, 3.0, 0.5, 1e300, 1e-300))
        others = array[:0] if array.ndim else array[None], array[..., None], array.T
        arrays[name] = draw.one(*others, filled, filled.clip(-9, 9).astype("i8"))
    with suppress(cp.CordialError, TypeError, ValueError):  # What cannot be written so.
        storage.write(path, kind, meta, arrays)


def enter_saved(kind: str, draw: Draw, folder: Path) -> None:
    path, again = folder / "saved.cordial", folder / "again.cordial"
    path.write_bytes(saved(kind, path))
    if draw.number(3):
        reseal(draw, path)
    else:
        path.write_bytes(damage_bytes(draw, path.read_bytes()))
    load = cp.priors.LearnedPrior.load if kind == "prior" else cp.load
    fitted: Any = attempt(partial(load, path), path.name)
    if fitted is None:
        return
    fitted.save(again)
    load(again)
    if kind == "users":
        uniform = np.full((3, fitted.scale_.size), 1 / fitted.scale_.size)
        assert_probabilities(fitted.predict_proba(uniform, ["ann", "bob", "new"]))
    elif kind != "prior":
        attempt(lambda: (assert_probabilities(fitted.predict_proba(TEST)), fitted.summary()))


def damage_one(draw: Draw, **usual: Any) -> dict[str, Any]:
    name = draw.one(*usual)
    return usual | {name: damage_array(draw, usual[name])}


def enter_fit(draw: Draw, folder: Path, kinds: tuple[Any, ...] = BASELINES) -> None:
    case = damage_one(draw, logits=LOGITS, labels=NAMES, options=STARS, test=TEST)
    calibrator = draw.one(*kinds)().set_params(options=case["options"])
    fit = partial(calibrator.fit, case["logits"], case["labels"])
    attempt(lambda: assert_probabilities(fit().predict_proba(case["test"])))


def enter_users(draw: Draw, folder: Path) -> None:
    case = damage_one(draw, probs=PROBS, labels=NAMES, users=USERS, order=np.arange(12.0))
    if isinstance(case["probs"], np.ndarray | list):
        fitted = attempt(lambda: cp.UserShift(STARS, sigma=0.5).fit(**case))
        assert fitted is None or np.isfinite([*fitted.values_.values()]).all()


def enter_scores(draw: Draw, folder: Path) -> None:
    case = damage_one(draw, probs=PROBS, labels=TEXTS.labels[:12])
    score: Any = draw.one(cp.scores.log_loss, cp.scores.rps, cp.scores.accuracy)
    if all(isinstance(values, np.ndarray | list) for values in case.values()):
        value = attempt(lambda: score(case["probs"], case["labels"]))
        assert value is None or np.isfinite(value)
    codes = attempt(lambda: Scale.default(5).encode(case["labels"]))
    assert codes is None or {*codes.tolist()} <= {*range(5)}


def enter_logs(draw: Draw, folder: Path) -> None:
    path = folder / "log.jsonl"
    rows = [{"id": f"t{k}", "score": f"I say {k}", "label": 6 - k} for k in range(1, 6)]
    tree: Any = damage_tree(draw, rows)
    content = "".join(f"{json.dumps(row)}\n" for row in (tree if type(tree) is list else [tree]))
    path.write_bytes(damage_bytes(draw, content.encode()) if draw.number(2) else content.encode())
    found = attempt(partial(cp.read, path, item="id", answer="score", options=STARS), path.name)
    items = [] if found is None else found.readings["item_id"]
    assert len({*items}) == len(items)


DOORS: dict[str, Callable[[Draw, Path], None]] = {
    **{"readings": enter_readings, "labels": enter_labels, "several readers": enter_several},
    **{f"saved {kind}": partial(enter_saved, kind) for kind in ("stack", "users", "prior")},
    **{"fit": enter_fit, "users": enter_users, "scores": enter_scores, "logs": enter_logs},
}
AT_NIGHT = DOORS | {
    "judge": partial(enter_fit, kinds=(partial(cp.Cordial, inference="mode"),)),
    "saved judge": partial(enter_saved, "judge"),
}


def enter(door: str, data: st.DataObject, folder: Path) -> None:
    """Bring one case in; only the files that it wrote itself may be left."""
    for path in folder.iterdir():
        path.unlink()
    AT_NIGHT[door](Draw(data), folder)
    assert {path.stem for path in folder.iterdir()} <= {"r", "other", "saved", "again", "log"}


@pytest.mark.parametrize("door", DOORS)
@DAY
@given(data=st.data())
def test_doors(tmp_path: Path, door: str, data: st.DataObject) -> None:
    enter(door, data, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("door", AT_NIGHT)
@NIGHT
@given(data=st.data())
def test_doors_all_night(tmp_path: Path, door: str, data: st.DataObject) -> None:
    enter(door, data, tmp_path)
