"""Files: the same table through every format, whole or not at all, or turned away."""

import csv
import json
import os
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from cordial_ppl.data.readings import as_logits
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import FileError
from cordial_ppl.runtime.outputs import check_writable, replacing
from cordial_ppl.tables import SINKS, read_columns, read_readings, write_table

FORMATS = ["csv", "parquet", "jsonl", "ndjson"]


def columns_of(values, options):
    ids = [f"text {i}" for i in range(len(values))]
    cells = {f"logit_{option}": values[:, k] for k, option in enumerate(options)}
    return {"item_id": ids, **cells}


NAMES = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=5)
NOTES = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8)


@pytest.mark.filterwarnings("ignore:the logits of every text are in 0..1")
@given(
    values=arrays(
        np.float64,
        array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=12),
        elements=st.floats(-400, 400),
    ),
    ending=st.sampled_from(FORMATS),
    data=st.data(),
)
def test_readings_and_text_round_trip_exactly(tmp_path_factory, values, ending, data):
    rows, size = values.shape
    distinct = st.lists(NAMES, min_size=size, max_size=size, unique_by=str.casefold)
    options = [f"option {name}" for name in data.draw(distinct)]
    notes = data.draw(st.lists(NOTES, min_size=rows, max_size=rows))
    path = tmp_path_factory.mktemp("tables") / f"readings.{ending}"
    write_table(path, {**columns_of(values, options), "note": notes})
    table = read_readings(path)
    assert table.scale == Scale(tuple(options))
    assert table.item_ids == [f"text {i}" for i in range(len(values))]
    assert table.extras == {"note": notes}
    np.testing.assert_array_equal(table.logits, as_logits(values))


@pytest.mark.parametrize("ending", FORMATS)
def test_every_kind_of_value_is_written(tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    cells = {
        "numbers": [np.float64(0.1), 1],
        "flag": [np.int64(3), None],
        "mixed": ["a", 1],
        "large": [2**70, None],
        "huge": [1, 2**200],
        "lists": [[1], ["a"]],
        "objects": [{"a": 1}, {"b": [2.5]}],
        "mixture": [5, {"x": 1}],
        "nothing": [None, None],
        "empty": [{}, {}],
        "bytes": [b"\xff", b"a"],
        "day": [date(2026, 1, 2), None],
        "time": [timedelta(1), None],
    }
    write_table(path, cells)
    found = read_columns(path).cells
    assert [*map(float, found["numbers"])] == [0.1, 1]
    for name in ("flag", "mixed", "large", "huge"):
        assert [*map(str, found[name])] == [
            str(c).replace("None", "") if ending == "csv" else str(c) for c in cells[name]
        ]
    assert [*map(json.loads, found["lists"])] == cells["lists"]
    # Objects of one column get the same keys.
    objects = [json.loads(o) if isinstance(o, str) else o for o in found["objects"]]
    assert objects == [{"a": 1, "b": None}, {"a": None, "b": [2.5]}]
    assert json.loads(found["mixture"][1]) == {"x": 1}
    assert "2026-01-02" in str(found["day"][0]) and len(found) == len(cells)


def test_what_is_written_is_plain(tmp_path):
    cells = {"item_id": ["a", "b"], "p_1": np.array([np.nan, 1 / 3]), "note": ["x, y", None]}
    write_table(tmp_path / "out.csv", cells)
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [["item_id", "p_1", "note"], ["a", "NaN", "x, y"], ["b", repr(1 / 3), ""]]
    write_table(tmp_path / "out.jsonl", cells)
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert records[0] == {"item_id": "a", "p_1": None, "note": "x, y"}
    assert records[1] == {"item_id": "b", "p_1": 1 / 3, "note": None}


def test_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "r.parquet"
    write_table(path, columns_of(np.eye(2), "ab"))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileError, match="r.parquet is damaged"):
        read_readings(path)
    path.rename(tmp_path / "named.csv")
    with pytest.raises(FileError, match="named.csv is not UTF-8 text"):
        read_readings(tmp_path / "named.csv")
    with pytest.raises(FileError, match="cannot read.*No such file"):
        read_readings(tmp_path / "r.csv")
    with pytest.raises(FileError, match="too long"):
        read_readings(tmp_path / ("x" * 300 + ".csv"))
    with pytest.raises(FileError, match=r"must end in \.csv, .*\.parquet, \.jsonl or \.ndjson"):
        read_readings(tmp_path / "r.doc")
    (tmp_path / "named.xlsx").write_bytes(b"PK\3\4 and nothing else")
    with pytest.raises(
        FileError, match="named.xlsx (is damaged or is not a workbook|needs fastexcel)"
    ):
        read_readings(tmp_path / "named.xlsx")


def test_a_failure_leaves_nothing_behind(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    with pytest.raises(FileError, match="cannot be encoded"):
        write_table(path, {"a": ["\ud800"]})
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]
    (tmp_path / "link.csv").symlink_to(path)
    write_table(tmp_path / "link.csv", {"a": [1]})
    assert (tmp_path / "link.csv").is_symlink() and path.read_text() == "a\n1\n"


def test_outputs_that_can_and_cannot_be_written(tmp_path):
    check_writable(tmp_path / "out.CSV", endings=SINKS)
    check_writable(tmp_path / "calibrator.cordial")
    (tmp_path / "file").touch()
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "link.csv").symlink_to(tmp_path / "pipe.csv")
    before = sorted(tmp_path.iterdir())
    names = "none/out.csv", "file/out.csv", "folder.csv", "out.txt", "out", "pipe.csv", "link.csv"
    for path in (tmp_path / name for name in names):
        with pytest.raises(FileError, match=path.name):
            check_writable(path, endings=SINKS)
        with pytest.raises(FileError, match=path.name):
            write_table(path, {"a": [1]})
    assert sorted(tmp_path.iterdir()) == before and (tmp_path / "pipe.csv").is_fifo()


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_nested_types_are_written(tmp_path, ending):
    frame = pl.LazyFrame(
        {
            "object": [{"a": None}],
            "array": pl.Series([[1.0, 2.0]], dtype=pl.Array(pl.Float64, 2)),
            "image": [{"bytes": b"x", "path": "é"}],
            "chunks": [[b"q"]],
        }
    )
    write_table(tmp_path / f"out.{ending}", frame)
    cells = read_columns(tmp_path / f"out.{ending}").cells
    (empty,), (array,), (image,), (chunks,) = cells.values()
    assert empty in ('{"a": null}', {"a": None}) and array in ("[1.0, 2.0]", [1.0, 2.0])
    assert json.loads(image) == {"bytes": "b'x'", "path": "é"} and json.loads(chunks) == ["b'q'"]


def test_whole_numbers_beside_others_are_exact(tmp_path):
    rows = [{"item_id": 2**53 + 1, "logit_a": 0, "logit_b": 1}, {"item_id": 1.5, "logit_a": 0}]
    rows[1]["logit_b"] = 0
    path = tmp_path / "r.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read_readings(path).item_ids == [str(2**53 + 1), "1.5"]
