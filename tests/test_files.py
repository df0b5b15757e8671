"""Files: the same table through every format, whole or not at all, or turned away."""

import csv
import json
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from cordial_ppl.errors import FileError, InputError
from cordial_ppl.readings import as_logits
from cordial_ppl.scale import Scale
from cordial_ppl.tables import (
    check_writable,
    read_readings,
    replacing,
    write_table,
)

ENDINGS = ["csv", "parquet", "jsonl", "ndjson"]


def columns_of(values, options):
    ids = [f"text {i}" for i in range(len(values))]
    cells = {f"logit_{option}": values[:, k] for k, option in enumerate(options)}
    return {"item_id": ids, **cells}


@given(
    values=arrays(
        np.float64,
        array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=12),
        elements=st.floats(-400, 400),
    ),
    ending=st.sampled_from(ENDINGS),
    data=st.data(),
)
def test_logits_round_trip_exactly(tmp_path_factory, values, ending, data):
    size = values.shape[1]
    names = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=5)
    distinct = st.lists(names, min_size=size, max_size=size, unique_by=str.casefold)
    options = [f"option {name}" for name in data.draw(distinct)]
    path = tmp_path_factory.mktemp("tables") / f"readings.{ending}"
    write_table(path, columns_of(values, options))
    table = read_readings(path)
    assert table.scale == Scale(tuple(options))
    assert table.item_ids == [f"text {i}" for i in range(len(values))]
    np.testing.assert_array_equal(table.logits, as_logits(values))


@given(
    ending=st.sampled_from(ENDINGS),
    notes=st.lists(
        st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8),
        min_size=1,
    ),
)
def test_extra_text_passes_through(tmp_path_factory, ending, notes):
    path = tmp_path_factory.mktemp("tables") / f"readings.{ending}"
    cells = columns_of(np.zeros((len(notes), 2)), "ab")
    write_table(path, {**cells, "note": notes})
    assert read_readings(path).extras == {"note": notes}


@pytest.mark.parametrize("ending", ENDINGS)
def test_unicode_options_with_blanks(tmp_path, ending):
    options = ("très mauvais", "坏", "good 👍")
    path = tmp_path / f"readings.{ending}"
    write_table(path, columns_of(np.eye(3), options))
    assert read_readings(path).scale.options == options
    reordered = read_readings(path, options=options[::-1])
    np.testing.assert_array_equal(reordered.logits, as_logits(np.eye(3)[:, ::-1]))


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_kind_of_value_is_written(tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    cells = {
        "item_id": [1, 2],
        "logit_a": [np.float64(0.1), 1 / 3],
        "logit_b": np.array([1, 2], np.int32),
        "flag": [np.int64(3), None],
        "mixed": ["a", 1],
        "large": [2**70, None],
    }
    write_table(path, cells)
    table = read_readings(path)
    np.testing.assert_array_equal(table.logits, as_logits([[0.1, 1], [1 / 3, 2]]))
    assert table.item_ids == ["1", "2"]
    for name, value in {"flag": 3, "large": 2**70}.items():
        assert str(table.extras[name][0]) == str(value) and table.extras[name][1] in ("", None)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (r'"note": "\ud800"', "line 1 is not JSON as it should be: .*surrogates"),
        (r'"\ud800": 1', "line 1 is not JSON as it should be: .*surrogates"),
        ('"logit_a": 1', "line 1 .*the key 'logit_a' occurs twice"),
        ('"note": {"x": 1, "x": 2}', "line 1 .*the key 'x' occurs twice"),
    ],
)
def test_json_that_cannot_be_kept(tmp_path, cell, message):
    path = tmp_path / "r.jsonl"
    path.write_text(f'{{"item_id": 1, "logit_a": 0, "logit_b": 0, {cell}}}\n')
    with pytest.raises(FileError, match=message):
        read_readings(path)


def test_escaped_text_is_read(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text(r'{"item_id": "\ud83d\ude00", "logit_a": 0, "logit_b": 0}')
    assert read_readings(path).item_ids == ["\N{GRINNING FACE}"]


def test_json_has_no_nan(tmp_path):
    path = tmp_path / "out.jsonl"
    write_table(
        path, {"x": np.array([np.nan, np.inf, 1.0]), "y": [[np.nan], {"z": -np.inf}, "nan"]}
    )

    def refuse(name):
        raise AssertionError(name)

    found = [json.loads(row, parse_constant=refuse) for row in path.read_text().splitlines()]
    assert found == [{"x": None, "y": [None]}, {"x": None, "y": {"z": None}}, {"x": 1, "y": "nan"}]


def test_many_rows(tmp_path):
    values = np.random.default_rng(0).normal(size=(20_000, 5))
    for ending in ENDINGS[:3]:
        path = tmp_path / f"readings.{ending}"
        write_table(path, columns_of(values, range(1, 6)))
        np.testing.assert_array_equal(read_readings(path).logits, as_logits(values))


@pytest.mark.parametrize("name", ["r.csv", "r.jsonl", "r.parquet"])
@pytest.mark.parametrize(
    "contents",
    [b"", b"\n\n", b"\xef\xbb\xbf", b"\0\1\2\xff" * 300, b"\x1f\x8b\x08junk\xff\xfe", b"[1, 2]\n"],
)
def test_contents_that_are_no_table(tmp_path, name, contents):
    path = tmp_path / name
    path.write_bytes(contents)
    with pytest.raises(InputError, match=name):
        read_readings(path)


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("contents", ["csv", "parquet", "jsonl"])
def test_contents_are_what_the_ending_says(tmp_path, ending, contents):
    path = tmp_path / f"r.{contents}"
    write_table(path, columns_of(np.eye(2), "ab"))
    path = path.rename(tmp_path / f"r.{ending}")
    if ending == contents:
        assert read_readings(path).item_ids == ["text 0", "text 1"]
    else:
        with pytest.raises(FileError, match=f"r.{ending}"):
            read_readings(path)


@given(st.binary(max_size=200), st.sampled_from(ENDINGS))
def test_no_contents_raise_anything_else(tmp_path_factory, contents, ending):
    path = tmp_path_factory.mktemp("junk") / f"r.{ending}"
    path.write_bytes(contents)
    with pytest.raises(InputError):
        read_readings(path)


def test_a_truncated_parquet_file(tmp_path):
    path = tmp_path / "r.parquet"
    write_table(path, columns_of(np.eye(2), "ab"))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileError, match="not a Parquet file, or is damaged"):
        read_readings(path)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileError, match="cannot read.*No such file"):
        read_readings(tmp_path / "r.csv")
    with pytest.raises(FileError, match=r"must end in \.csv, \.parquet, \.jsonl or \.ndjson"):
        read_readings(tmp_path / "r.xlsx")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileError, match="cannot read"):
        read_readings(tmp_path / "folder.csv")


def test_what_is_written_is_plain(tmp_path):
    cells = {"item_id": ["a", "b"], "p_1": np.array([0.1, 1 / 3]), "note": ["x, y", None]}
    write_table(tmp_path / "out.csv", cells)
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [["item_id", "p_1", "note"], ["a", "0.1", "x, y"], ["b", repr(1 / 3), ""]]
    write_table(tmp_path / "out.jsonl", cells)
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert records[1] == {"item_id": "b", "p_1": 1 / 3, "note": None}


def test_a_failure_leaves_nothing_behind(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    with pytest.raises(InputError, match="one length"):
        write_table(path, {"a": [1], "b": [1, 2]})
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]
    write_table(path, {"a": [1]})
    assert [file.read_text() for file in tmp_path.iterdir()] == ["a\n1\n"]


def test_outputs_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "folder.csv").mkdir()
    for path in ["none/out.csv", "file/out.csv", "folder.csv", "out.txt", "out"]:
        for attempt in (check_writable, lambda path: write_table(path, {"a": [1]})):
            with pytest.raises(FileError, match=path):
                attempt(tmp_path / path)
    check_writable(tmp_path / "out.CSV")
    check_writable(tmp_path / "saved.cordial", endings=None)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "folder.csv"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.csv").touch()
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_table(tmp_path / "link.csv", {"a": [1]})
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "a\n1\n"


def test_a_pipe_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    for target in (pipe, tmp_path / "link.csv"):
        if target != pipe:
            target.symlink_to(pipe)
        with pytest.raises(FileError, match="not a file"):
            write_table(target, {"item_id": ["a"]})
    assert pipe.is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.csv", "pipe.csv"]
