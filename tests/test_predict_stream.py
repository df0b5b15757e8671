"""Parquet that need not fit the memory: predicted as a whole table is, and refused in its words."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from datetime import datetime
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from few_labels import LABELS, LOGITS, STARS, TEXTS, lengthy, small
from hypothesis import given
from hypothesis import strategies as st

from cordial_ppl import LogitStack
from cordial_ppl.bulk import local
from cordial_ppl.bulk.local import predict_table
from cordial_ppl.bulk.predictor import BatchPredictor
from cordial_ppl.channel import Channel
from cordial_ppl.cli.output import calibrated_columns
from cordial_ppl.cordial.stack import Stack
from cordial_ppl.errors import CordialWarning, FileError, InputError
from cordial_ppl.scale import Scale
from cordial_ppl.tables import blocks, read_readings, write_table
from cordial_ppl.tables.blocks import open_blocks
from cordial_ppl.tables.survey import survey

MANY = TEXTS.logits[20:120]
LABELLED = LOGITS, [STARS[k] for k in LABELS]
NAMES = [f"logit_{star}" for star in STARS]
PROBS = [f"p_{star}" for star in STARS]
SCALE = Scale(STARS)


@pytest.fixture
def small_blocks(monkeypatch):
    """Read seven rows at a time and predict thirteen: neither divides the tables."""
    monkeypatch.setattr(blocks, "BLOCK", 7)
    monkeypatch.setattr(local, "ROWS", 13)


@pytest.fixture(scope="module")
def judge():
    """A stack with every kind of member."""
    return small(STARS).fit(*LABELLED)


@pytest.fixture(scope="module")
def light():
    """A judge that is fitted and compiled in no time, and can be saved."""
    return LogitStack(STARS).fit(*LABELLED)


def readings(logits=MANY, **extras):
    cells = {name: logits[:, k] for k, name in enumerate(NAMES)}
    return {"item_id": [f"text {i}" for i in range(len(logits))], **cells, **extras}


def write(path, cells, start=0, stop=None):
    """Write some rows of a table as Parquet, ten a row group."""
    path.parent.mkdir(exist_ok=True)
    table = cells if isinstance(cells, pa.Table) else pa.table(cells)
    pq.write_table(table.slice(start, (stop or len(table)) - start), path, row_group_size=10)
    return path


def stream(judge, path, output, **chosen):
    table = open_blocks(path)
    found = survey(table, judge.scale_, **chosen, covariates=judge.covariates_)
    shares = []
    texts = predict_table(judge, table, found, output, lambda share, _: shares.append(share))
    assert texts == found.texts
    assert shares[-1] == 1 and sorted(shares) == shares
    return pq.read_table(output)


def assert_same(found, expected):
    """All cells are equal; a mean may differ in the last digit of a product."""
    assert found.column_names == list(expected)
    for name, cells in expected.items():
        if name in ("mean", "low", "high"):
            np.testing.assert_allclose(found[name], cells, rtol=0, atol=1e-12)
        else:
            assert found[name].to_pylist() == list(cells)


@pytest.mark.usefixtures("small_blocks")
def test_a_stream_is_what_the_whole_table_is(judge, tmp_path):
    path = write(tmp_path / "r.parquet", readings(note=[f"note {i}" for i in range(100)]))
    expected = calibrated_columns(judge, read_readings(path))
    assert_same(stream(judge, path, tmp_path / "o.parquet"), expected)


@pytest.mark.usefixtures("small_blocks")
def test_a_folder_is_one_table_in_the_order_of_its_files(judge, tmp_path):
    cells = readings()
    # Whoever writes a file alone may not know what type a column has elsewhere.
    gaps = pa.table(cells | {"note": pa.array([None] * 100, pa.null())})
    notes = pa.table(cells | {"note": [f"note {i}" for i in range(100)]})
    folder = tmp_path / "readings.parquet"
    write(folder / "b.parquet", notes, 3, 100)
    write(folder / "a.parquet", gaps, 0, 3)
    pq.write_table(notes.slice(0, 0), folder / "a-nothing.parquet")
    (folder / "_SUCCESS").touch()
    (folder / ".part.parquet").write_text("not finished")
    whole = read_readings(write(tmp_path / "whole.parquet", gaps))
    expected = calibrated_columns(judge, whole)
    expected["note"] = [None] * 3 + [f"note {i}" for i in range(3, 100)]
    assert_same(stream(judge, folder, tmp_path / "o.parquet"), expected)


@pytest.mark.usefixtures("small_blocks")
def test_one_reader_of_several(judge, tmp_path):
    """Whose rows stand in some of the blocks only, in another group of columns than others'."""
    own = np.isin(np.arange(100) % 30, [2, 3, 4, 25])
    cells = readings(np.where(own[:, None], MANY, np.nan))
    nulls = {name: pa.array(cells[name], from_pandas=True) for name in NAMES}
    others = {name: pa.array(np.where(own, np.nan, 0.2), from_pandas=True) for name in PROBS}
    who = {"reader": np.where(own, "mine", "theirs"), "task": ["it"] * 100}
    path = write(tmp_path / "r.parquet", cells | nulls | others | who)
    expected = calibrated_columns(judge, read_readings(path, reader="mine", options=SCALE))
    assert_same(stream(judge, path, tmp_path / "o.parquet", reader="mine"), expected)
    assert len(expected["item_id"]) == own.sum()


def test_other_columns_keep_their_types(light, tmp_path):
    extras = {
        "mean": pa.array(range(100), pa.int32()),
        "kind": pa.array(["a", "b"] * 50).dictionary_encode(),
        "at": pa.array([datetime(2026, 1, 2)] * 100, pa.timestamp("ns")),
        "scores": pa.array([[0.5, None]] * 100, pa.list_(pa.float32())),
        "share": pa.array([None, float("nan")] * 50, pa.float32()),
        "long": pa.array([2**64 - 1] * 100, pa.uint64()),
    }
    found = stream(light, write(tmp_path / "r.parquet", readings(**extras)), tmp_path / "o.parquet")
    assert found.column_names[-6:] == ["input_mean", *list(extras)[1:]]
    for name, column in extras.items():
        kept = found["input_mean" if name == "mean" else name]
        assert kept.type == column.type
        assert str(kept.to_pylist()) == str(column.to_pylist())


@pytest.mark.usefixtures("small_blocks")
def test_covariates(tmp_path):
    lengths = np.linspace(-1.0, 1.0, 100)
    judge = Stack(STARS, channels=(Channel("lengthy", lengthy),), calibrators=(), inference="mode")
    judge.fit(*LABELLED, covariates={"length": lengths[:20]})
    path = write(tmp_path / "r.parquet", readings(length=lengths))
    expected = calibrated_columns(judge, read_readings(path))
    assert_same(stream(judge, path, tmp_path / "o.parquet"), expected)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_text_is_streamed_too(light, tmp_path, ending):
    notes = ["", "a, b", 'say "so"', "two\nlines", "é"] * 20
    path = write(tmp_path / "r.parquet", readings(note=notes, share=[0.5, float("nan")] * 50))
    write_table(tmp_path / f"whole.{ending}", calibrated_columns(light, read_readings(path)))
    table, output = open_blocks(path), tmp_path / f"o.{ending}"
    predict_table(light, table, survey(table, SCALE), output)
    assert output.read_bytes() == (tmp_path / f"whole.{ending}").read_bytes()


def changed(name, row, value):
    """A table with another value in one cell."""
    cells = readings()
    column = pa.array(cells[name]).to_pylist()
    column[row] = value
    return cells | {name: column}


def probabilities(**changes):
    probs = np.full((100, 5), 0.2)
    for row, value in ((91, 0.5), (12, 0.3), (55, np.nan)):
        if f"row{row}" in changes:
            probs[row, 2] = value
    columns = {name: pa.array(probs[:, k], from_pandas=True) for k, name in enumerate(PROBS)}
    return {"item_id": range(100), **columns}


FAULTS = {
    "not a number": (changed("logit_3", 44, float("nan")), {}),
    "infinite, twice": (changed("logit_3", 44, float("inf")) | {"logit_1": [np.inf] * 100}, {}),
    "no reading": ({**readings(np.where(np.arange(100)[:, None] % 40, MANY, -np.inf))}, {}),
    "text": (readings() | {"logit_2": [*map(str, range(99)), "much"]}, {}),
    "sums": (probabilities(row91=True, row12=True), {}),
    "left out": (probabilities(row55=True), {}),
    "no name": (changed("item_id", 60, " "), {}),
    "one name twice": (changed("item_id", 60, "text 3"), {}),
    "all names twice": (readings() | {"item_id": [*map(str, range(50))] * 2}, {}),
    "numbers for names": (readings() | {"item_id": [float(i % 99) for i in range(100)]}, {}),
    "no names at all": ({name: readings()[name] for name in NAMES}, {}),
    "no readings": ({"item_id": ["a"]}, {}),
    "another scale": ({"item_id": ["a"], "logit_1": [1.0], "logit_2": [2.0]}, {}),
    "two groups": (readings(p_1=[1.0] * 100), {}),
    "several readers": (readings(reader=["a"] * 60 + ["b"] * 40), {}),
    "no such reader": (readings(reader=["a"] * 60 + ["b"] * 40), {"reader": "c"}),
    "no column for it": (readings(), {"task": "c"}),
    "no row": (pa.table(readings()).slice(0, 0), {}),
}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_told_in_the_same_words(tmp_path, fault):
    cells, chosen = FAULTS[fault]
    path = tmp_path / "r.parquet"
    pq.write_table(cells if isinstance(cells, pa.Table) else pa.table(cells), path)
    with pytest.raises(InputError) as expected:
        read_readings(path, options=SCALE, **chosen)
    with pytest.raises(InputError) as found:
        survey(open_blocks(path), SCALE, **chosen)
    assert str(found.value) == str(expected.value)
    assert type(found.value) is type(expected.value)


@pytest.mark.usefixtures("small_blocks")
def test_a_fault_is_told_with_its_file(tmp_path):
    folder = tmp_path / "parts"
    write(folder / "a.parquet", readings(), 0, 40)
    write(folder / "b.parquet", changed("logit_3", 44, float("nan")), 40)
    with pytest.raises(InputError, match=r"parts.b.parquet: .* nan in row 4, column 'logit_3'"):
        survey(open_blocks(folder), SCALE)
    write(folder / "b.parquet", changed("item_id", 60, "text 3"), 40)
    with pytest.raises(InputError, match="'text 3' is in rows 3 of a.parquet and 20 of b.parquet"):
        survey(open_blocks(folder), SCALE)
    for last, message in (("x", "must be numbers; found 'x' in"), (None, "must be finite .* in")):
        cells = readings(length=["1"] * 99 + [last])
        write(folder / "a.parquet", cells, 0, 40)
        write(folder / "b.parquet", cells, 40)
        with pytest.raises(InputError, match=f"'length' {message} row 59 of b.parquet"):
            survey(open_blocks(folder), SCALE, covariates=["length"])
    with pytest.raises(InputError, match="no column 'width'.*there is 'length'"):
        survey(open_blocks(folder), SCALE, covariates=["width"])


@pytest.mark.usefixtures("small_blocks")
def test_missing_options_are_told_of_once(light, tmp_path):
    logits = MANY.copy()
    logits[[3, 50, 99], [0, 1, 2]] = -np.inf
    path = write(tmp_path / "r.parquet", readings(logits))
    with pytest.warns(CordialWarning) as expected:
        table = read_readings(path)
    with pytest.warns(CordialWarning) as told:
        found = stream(light, path, tmp_path / "o.parquet")
    assert [str(each.message) for each in told] == [str(each.message) for each in expected]
    assert_same(found, calibrated_columns(light, table))
    write(tmp_path / "parts" / "a.parquet", readings(logits), 0, 3)
    write(tmp_path / "parts" / "b.parquet", readings(logits), 3)
    with pytest.warns(CordialWarning, match="3 of 100 rows .* row 0, column 'logit_1' of b.parq"):
        survey(open_blocks(tmp_path / "parts"), SCALE)


def test_folders_that_are_no_table(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    with pytest.raises(FileError, match="parts is a folder without a file .* .parquet"):
        open_blocks(folder)
    write(folder / "a.parquet", readings(note=["n"] * 100))
    write(folder / "b.parquet", readings())
    with pytest.raises(FileError, match="b.parquet lacks what a.parquet has: 'note'"):
        open_blocks(folder)
    write(folder / "b.parquet", readings(note=["n"] * 100, more=["m"] * 100))
    with pytest.raises(FileError, match="b.parquet has what a.parquet has not: 'more'"):
        open_blocks(folder)
    write(folder / "b.parquet", readings(note=[1.0] * 100))
    with pytest.raises(FileError, match="the files of .*parts do not fit together: .*note"):
        open_blocks(folder)
    (folder / "b.parquet").write_text("{}\n")
    with pytest.raises(FileError, match=r"b.parquet is not what its ending says: .*\.jsonl"):
        open_blocks(folder)


def test_a_batch_depends_on_no_other(judge, tmp_path):
    path = write(tmp_path / "r.parquet", readings(note=[f"note {i}" for i in range(100)]))
    expected = calibrated_columns(judge, read_readings(path))
    table = pq.read_table(path)
    parts = [table.slice(start, 30) for start in range(0, 100, 30)]
    predictor = BatchPredictor(judge)
    with ThreadPoolExecutor(2) as pool:
        backwards = list(pool.map(predictor, parts[::-1]))
    assert_same(pa.concat_tables(backwards[::-1]), expected)
    assert predictor(parts[0].to_batches()[0]).equals(backwards[-1].slice(0, 10))
    assert predictor(table.slice(0, 0)).schema == predictor.schema(table.schema)
    assert predictor.schema(table.schema) == backwards[0].schema
    with pytest.raises(InputError, match="the batch has no column 'item_id'"):
        predictor(table.drop_columns(["item_id"]))
    with pytest.raises(InputError, match="nan in row 7, column 'logit_3'"):
        predictor(pa.table(changed("logit_3", 47, float("nan"))).slice(40))


@given(st.lists(st.integers(0, 20), max_size=12), st.integers(1, 9))
def test_rows_are_moved_to_tables_of_one_size(counts, size):
    rows = pa.table({"row": range(sum(counts))})
    starts = np.cumsum([0, *counts]).tolist()
    tables = [rows.slice(start, count) for start, count in zip(starts, counts, strict=False)]
    found = list(local._even(tables, size))
    assert [row for table in found for row in table["row"].to_pylist()] == list(range(len(rows)))
    assert all(len(table) == size for table in found[:-1])
    assert not found or 0 < len(found[-1]) <= size


@pytest.fixture
def folder(light, tmp_path):
    """A judge, and readings in two files."""
    light.save(tmp_path / "judge.cordial")
    write(tmp_path / "parts" / "a.parquet", readings(), 0, 40)
    write(tmp_path / "parts" / "b.parquet", readings(), 40)
    return tmp_path / "parts"


def names(path):
    return sorted(file.name for file in path.iterdir())


def test_the_command_takes_a_folder(cordial, folder, light):
    done = cordial("predict", "judge.cordial", "parts", "-o", "o.csv", "--json")
    assert json.loads(done.stdout) == {"output": "o.csv", "texts": 100, "options": list(STARS)}
    whole = read_readings(write(Path("whole.parquet"), readings()))
    write_table("whole.csv", calibrated_columns(light, whole))
    assert Path("o.csv").read_bytes() == Path("whole.csv").read_bytes()
    inside = cordial("predict", "judge.cordial", "parts", "-o", "parts/a.parquet", status=2)
    assert "parts/a.parquet would replace the input parts/a.parquet" in inside.stderr


def test_columns_of_other_names(cordial, folder):
    table = pq.read_table(folder)
    letters = table.rename_columns(["item_id", *(f"logit_{letter}" for letter in "abcde")])
    # In another order than the scale's, and one of another task, which has no value.
    letters = letters.select(["item_id", *letters.column_names[:0:-1]])
    write(Path("letters.parquet"), letters.append_column("logit_f", pa.nulls(100, pa.float64())))
    predict = "predict", "judge.cordial", "letters.parquet", "-o"
    assert (
        "the options are 'a', 'b'"
        in cordial(*predict, "o.parquet", "--options", "a,b,c,d,e", status=2).stderr
    )
    write(Path("letters.parquet"), letters)
    cordial(*predict, "o.parquet", "--options", "a,b,c,d,e")
    cordial("predict", "judge.cordial", "parts", "-o", "own.parquet")
    assert pq.read_table("o.parquet").equals(pq.read_table("own.parquet"))


def test_readings_of_another_model_are_pointed_out(cordial, light, tmp_path):
    judge = copy(light)
    judge.provenance_ = {"model": ["a"]}
    judge.save(tmp_path / "judge.cordial")
    for reader, others in (("x", 1), ("y", 0)):
        cells = readings(reader=["x", "y"] * 50, reader_model=["a", "a"] * 49 + ["b", None])
        write(tmp_path / "r.parquet", cells)
        predict = "predict", "judge.cordial", "r.parquet", "-o", "o.parquet", "--reader", reader
        said = cordial(*predict).stderr
        assert said.count("model 'b' where the judge knows 'a'") == others
        assert said.count("50 texts") == 1


def test_nothing_is_left_of_a_table_that_is_damaged(cordial, folder, tmp_path):
    before = names(tmp_path)
    damaged = (folder / "b.parquet").read_bytes()
    middle = len(damaged) // 3
    (folder / "b.parquet").write_bytes(damaged[:middle] + b"\xff" * 40 + damaged[middle + 40 :])
    found = cordial("predict", "judge.cordial", "parts", "-o", "o.parquet", status=2)
    assert "b.parquet is not a Parquet file, or is damaged" in found.stderr
    assert names(tmp_path) == before


def test_nothing_is_left_of_a_table_that_changes(folder, light, tmp_path):
    table = open_blocks(folder)
    found = survey(table, SCALE)
    write(folder / "b.parquet", readings(), 41)
    with pytest.raises(FileError, match="b.parquet was changed while it was read"):
        predict_table(light, table, found, tmp_path / "o.parquet")
    assert names(tmp_path) == ["judge.cordial", "parts"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("parts", "--engine", "ray"), "--engine ray needs Ray: pip install"),
        (("r.csv", "--engine", "ray"), "--engine ray reads Parquet, a file or a folder; got r.csv"),
        (("parts", "--engine", "ray", "-o", "parts"), "parts: it is there already"),
        (("parts", "--engine", "ray", "-o", "no/o"), "cannot write no/o: No such file"),
    ],
)
def test_what_ray_cannot_do(cordial, folder, tmp_path, monkeypatch, arguments, message):
    monkeypatch.setitem(sys.modules, "ray", None)
    before = names(tmp_path)
    run = partial(cordial, "predict", "judge.cordial", "-o", "o", status=2)
    assert message in run(*arguments).stderr
    assert names(tmp_path) == before
