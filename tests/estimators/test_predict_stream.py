"""Tables in batches: predicted as a whole table is, in order, and refused in the same words."""

import json
import sys
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from few_labels import LABELS, LOGITS, STARS, TEXTS, lengthy, small
from polars.testing import assert_frame_equal
from sweep_files import watching

import cordial_ppl as cp
from cordial_ppl.decisions import answers
from cordial_ppl.estimators.bulk import predictor
from cordial_ppl.estimators.bulk.predictor import predict_batch, predict_table
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.tables import open_readings, read_readings, write_table
from cordial_ppl.tables import reading_table as tables

MANY = TEXTS.logits[20:120]
LABELLED = LOGITS, [STARS[k] for k in LABELS]
NAMES = [f"logit_{star}" for star in STARS]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Check sixty rows at a time and predict thirteen: neither divides the tables."""
    monkeypatch.setattr(tables, "CHECKED", 60)
    monkeypatch.setattr(predictor, "ROWS", 13)


@pytest.fixture(scope="module")
def stack():
    """A stack with every kind of member."""
    return small(STARS).fit(*LABELLED)


@pytest.fixture(scope="module")
def light():
    """A calibrator that is fitted and compiled quickly, and can be saved."""
    return cp.LogitStack(STARS).fit(*LABELLED)


def readings(logits=MANY, **extras: Any):
    cells = {name: logits[:, k] for k, name in enumerate(NAMES)}
    return pl.DataFrame({"item_id": [f"text {i}" for i in range(len(logits))], **cells, **extras})


def write(path, frame, start=0, stop=None):
    """Write some rows of a table as Parquet, ten a row group."""
    path.parent.mkdir(exist_ok=True)
    frame[start:stop].write_parquet(path, row_group_size=10)
    return path


def stream(calibrator, path, output, **chosen):
    table = open_readings(path, options=calibrator.fit_.scale, **chosen)
    table.check(calibrator.fit_.covariates)
    shares = []
    with watching(lambda share, _: shares.append(share)):
        texts = predict_table(calibrator, table, output)
    assert texts == len(table)
    assert shares[-1] == 1 and sorted(shares) == shares
    return pl.read_parquet(output) if output.suffix == ".parquet" else pl.DataFrame()


# A mean may differ in the last digit of a product.
assert_same = partial(assert_frame_equal, check_dtypes=False, rel_tol=0, abs_tol=1e-12)


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_batches_give_what_the_whole_table_gives(stack, tmp_path, ending):
    path = tmp_path / f"r.{ending}"
    notes = ["", "a, b", 'say "so"', "two\nlines", "é"] * 20
    write_table(path, readings(note=notes, share=[0.5, None] * 50).lazy())
    expected = predict_batch(stack, read_readings(path))
    assert_same(stream(stack, path, tmp_path / "o.parquet"), expected)
    stream(stack, path, tmp_path / f"o.{ending}")
    again = read_readings(tmp_path / f"o.{ending}")
    assert (again.item_ids, again.extras["note"]) == (expected["item_id"].to_list(), notes)


def test_a_folder_is_one_table_in_the_order_of_its_files(stack, tmp_path):
    # A column that is empty in one file may have a type in the next.
    gaps, notes = readings(note=[None] * 100), readings(note=[f"note {i}" for i in range(100)])
    folder = tmp_path / "readings.parquet"
    write(folder / "b.parquet", notes, 3, 100)
    write(folder / "a.parquet", gaps, 0, 3)
    write(folder / "a-nothing.parquet", notes, 0, 0)
    (folder / "_SUCCESS").touch()
    (folder / ".part.parquet").write_text("not finished")
    expected = predict_batch(stack, read_readings(write(tmp_path / "whole.parquet", gaps)))
    kept = [None] * 3 + [f"note {i}" for i in range(3, 100)]
    expected = expected.with_columns(note=pl.Series(kept))
    assert_same(stream(stack, folder, tmp_path / "o.parquet"), expected)


def test_one_reader_of_several(stack, tmp_path):
    """A reader whose rows are in few batches, and whose group of columns is another."""
    mine = np.isin(np.arange(100) % 30, [2, 3, 4, 25])
    table = readings(
        np.where(mine[:, None], MANY, np.nan),
        **{f"p_{star}": np.where(mine, np.nan, 0.2) for star in STARS},
        reader=np.where(mine, "mine", "theirs"),
        task=["it"] * 100,
    ).fill_nan(None)
    path = write(tmp_path / "r.parquet", table)
    expected = predict_batch(stack, read_readings(path, reader="mine"))
    assert_same(stream(stack, path, tmp_path / "o.parquet", reader="mine"), expected)
    assert len(expected["item_id"]) == mine.sum()


def test_other_columns_keep_their_types(light, tmp_path):
    extras: dict[str, pl.Series] = {
        "mean": pl.Series(range(100), dtype=pl.Int32),
        "kind": pl.Series(["a", "b"] * 50, dtype=pl.Categorical),
        "at": pl.Series([datetime(2026, 1, 2)] * 100, dtype=pl.Datetime("ns")),
        "scores": pl.Series([[0.5, None]] * 100, dtype=pl.List(pl.Float32)),
        "share": pl.Series([None, float("nan")] * 50, dtype=pl.Float32),
        "long": pl.Series([2**64 - 1] * 100, dtype=pl.UInt64),
    }
    path = write(tmp_path / "r.parquet", readings(MANY, **extras))
    found = stream(light, path, tmp_path / "o.parquet")
    assert found.columns[-6:] == ["input_mean", *list(extras)[1:]]
    for name, column in extras.items():
        kept = found["input_mean" if name == "mean" else name]
        assert kept.dtype == column.dtype and str(kept.to_list()) == str(column.to_list())


def test_covariates_and_options_without_a_reading(tmp_path):
    lengths, logits = np.linspace(-1.0, 1.0, 100), MANY.copy()
    logits[[3, 50, 99], [0, 1, 2]] = -np.inf
    fitted = Stack(
        STARS, channels=(cp.channels.Channel("lengthy", lengthy),), calibrators=(), inference="mode"
    )
    fitted.fit(*LABELLED, covariates={"length": lengths[:20]})
    path = write(tmp_path / "r.parquet", readings(logits, length=lengths))
    with pytest.warns(cp.CordialWarning) as expected:
        table = read_readings(path)
    with pytest.warns(cp.CordialWarning) as told:
        found = stream(fitted, path, tmp_path / "o.parquet")
    assert [str(each.message) for each in told] == [str(each.message) for each in expected]
    assert_same(found, predict_batch(fitted, table))


def changed(name, row, value):
    """A table with another value in one cell."""
    table = readings()
    cells = table[name].to_list()
    cells[row] = value
    return table.with_columns(pl.Series(name, cells, table[name].dtype))


def test_a_fault_is_told_with_its_file(tmp_path):
    folder = tmp_path / "parts"
    write(folder / "a.parquet", readings(), 0, 40)

    def refuse(message, table, **chosen):
        write(folder / "b.parquet", table, 40)
        with pytest.raises(cp.InputError, match=message):
            open_readings(folder).check(**chosen)

    refuse("parts: .* nan in row 4 of b.parquet, col", changed("logit_3", 44, float("nan")))
    refuse("'text 3' is in rows 3 of a.parquet and 20 of b.p", changed("item_id", 60, "text 3"))
    for last in ("x", None):
        lengths = readings(length=["1"] * 99 + [last])
        write(folder / "a.parquet", lengths, 0, 40)
        refuse("'length' .* in row 59 of b.parquet", lengths, covariates=["length"])
    refuse("no column 'width'; found .*'length'", lengths, covariates=["width"])
    refuse("b.parquet and a.parquet .* only one file has 'length'", readings())
    refuse("only one file has 'x'", lengths.with_columns(x=pl.lit(1)))
    (folder / "b.parquet").write_text("{}\n")
    (tmp_path / "none").mkdir()
    for path, name in ((folder, "b.parquet is damaged"), (tmp_path / "none", "none")):
        with pytest.raises(cp.FileError, match=name):
            open_readings(path)


@pytest.fixture
def folder(light, tmp_path):
    """A calibrator, and readings in two files."""
    light.save(tmp_path / "judge.cordial")
    write(tmp_path / "parts" / "a.parquet", readings(), 0, 40)
    write(tmp_path / "parts" / "b.parquet", readings(), 40)
    return tmp_path / "parts"


def names(path):
    return sorted(file.name for file in path.iterdir())


def test_the_command_takes_a_folder(cordial, folder, light, tmp_path):
    done = cordial("predict", "judge.cordial", "parts", "-o", "o.csv", "--json")
    drift: Any = answers.check_readings(light.fit_, MANY)
    found = json.loads(done.stdout)
    # Of all batches together.
    assert found.pop("drift") == json.loads(json.dumps(drift.to_dict()))
    assert found.pop("differences") == []
    assert found == {"output": "o.csv", "texts": 100, "options": list(STARS)}
    stream(light, folder, Path("whole.csv"))
    assert Path("o.csv").read_bytes() == Path("whole.csv").read_bytes()
    inside = cordial("predict", "judge.cordial", "parts", "-o", "parts/a.parquet", status=2)
    assert "parts/a.parquet would overwrite the input parts/a.parquet" in inside.stderr
    before, found = names(tmp_path), open_readings(folder)
    damaged = (folder / "b.parquet").read_bytes()
    (folder / "b.parquet").write_bytes(damaged[:4] + b"\xff" * 400 + damaged[404:])
    done = cordial("predict", "judge.cordial", "parts", "-o", "o.parquet", status=2)
    assert "b.parquet is damaged" in done.stderr
    with pytest.raises(cp.FileError, match="b.parquet is damaged"):
        predict_table(light, found, tmp_path / "o.parquet")
    assert names(tmp_path) == before


def test_columns_of_other_names(cordial, folder):
    letters = readings().rename(dict(zip(NAMES, (f"logit_{k}" for k in "abcde"), strict=True)))
    # In another order than the scale's, and one more.
    letters = letters.select(letters.columns[0], *letters.columns[:0:-1])
    write(Path("letters.parquet"), letters.with_columns(logit_f=pl.lit(None, pl.Float64)))
    predict = "predict", "judge.cordial", "letters.parquet", "--options", "a,b,c,d,e", "-o"
    assert "The options are 'a', 'b'" in cordial(*predict, "o.parquet", status=2).stderr
    few = cordial(*predict[:3], "--options", "a,b", "-o", "o.parquet", status=2)
    assert "2 options, but judge.cordial has 5 options" in few.stderr
    write(Path("letters.parquet"), letters)
    cordial(*predict, "o.parquet")
    cordial("predict", "judge.cordial", "parts", "-o", "same.parquet")
    assert pl.read_parquet("o.parquet").equals(pl.read_parquet("same.parquet"))


@pytest.mark.parametrize(
    "table, output, message",
    [
        ("parts", "o", "--engine ray needs Ray. Run pip install"),
        ("r.csv", "o", "got r.csv"),
        ("parts", "parts", "would overwrite the input parts"),
        ("parts", "no/o", "no/o: the folder is missing"),
    ],
)
def test_what_ray_cannot_do(refused, folder, monkeypatch, table, output, message):
    monkeypatch.setitem(sys.modules, "ray", None)
    refused(message, "predict", "judge.cordial", table, "-o", output, "--engine", "ray")
