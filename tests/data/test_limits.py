"""Limits: what a file or an argument may ask for, refused by name beyond."""

import bz2
import gzip
import io
import lzma
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cordial_ppl as cp
from cordial_ppl.data import limits
from cordial_ppl.data.scale import Scale
from cordial_ppl.logs.rows import read_rows
from cordial_ppl.tables import files, read_readings, read_several, write_table
from cordial_ppl.tables.frame import Columns
from cordial_ppl.tables.groups import list_cells


def zstd(data: bytes) -> bytes:
    return pa.compress(data, codec="zstd", asbytes=True)


def zipped(data: bytes) -> bytes:
    with zipfile.ZipFile(file := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("readings.csv", data)
    return file.getvalue()


def test_a_scale_has_201_options_at_most() -> None:
    assert Scale.default(201).size == 201
    many = np.full((3, 10_000), 1 / 10_000)
    for use in (
        lambda: cp.RawReading().fit(many, [0, 1, 2]),
        lambda: cp.readings_from_probabilities(many),
        lambda: cp.readings_from_counts(np.ceil(many)),
    ):
        with pytest.raises(cp.InputError, match="201 options at most; found 10,000"):
            use()


def test_options_that_floats_do_not_hold_are_refused() -> None:
    with pytest.raises(cp.InputError, match="must lie below 2\\^53"):
        Scale.of([2**63, 2**63 + 1])
    exact = Scale.of([2**63, 2**64])
    assert exact.encode([2**64, 2**63]).tolist() == [1, 0]
    with pytest.raises(cp.InputError, match="must be among the options"):
        exact.encode(["9223372036854775809"])
    with pytest.raises(cp.InputError, match="below 2\\^63"):
        cp.RawReading().fit(np.eye(3), [0, 1, 2], texts=np.array([1, 2, 2**63], np.uint64))


def test_a_hard_answer_is_not_one_unread(recwarn: pytest.WarningsRecorder) -> None:
    cp.readings_from_probabilities(np.eye(2)[[0, 1, 1, 0]])
    assert not recwarn.list
    with pytest.raises(cp.InputError, match="every option is below -1e9"):
        cp.RawReading().fit([[-1e30, -2e30], [0.0, 1.0]], [0, 1])


def test_far_cells_and_large_archives_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "far.xlsx"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("xl/worksheets/sheet1.xml", '<sheetData><c r="A1"/><c r="XFD1048576"/>')
    message = f"^{path}: xl/worksheets/sheet1.xml has a cell in row 1,048,576 and .* column 16,384"
    with pytest.raises(cp.FileError, match=message):
        files.read_columns(path)
    monkeypatch.setattr(limits, "UNPACKED", 10)
    with pytest.raises(cp.FileError, match="would unpack to"):
        files.read_columns(path)


@pytest.mark.parametrize(
    ("cell", "part"),
    [
        ('c r="A99999999"', "xl/worksheets/sheet1.xml"),
        ("c t='' r = 'zzzz1'", "xl/worksheets/Sub/sheet1.xml"),
        ('row r="4294967296"', "xl/Worksheets/Sheet1.XML"),
        (f'c r="XFD{"0" * 30}1048576"', "xl/data.xml"),
    ],
)
def test_cells_beyond_any_sheet_are_refused(tmp_path: Path, cell: str, part: str) -> None:
    with zipfile.ZipFile(path := tmp_path / "far.xlsx", "w") as file:
        file.writestr("xl/sharedStrings.xml", '<t>f(r="hello1")</t>')
        file.writestr(part, f'<sheetData><c r="A1"/><c r="B2"/><{cell}/>')
    with pytest.raises(cp.FileError, match="cell in row|has 475,254 columns"):
        files.read_columns(path)


def test_texts_of_what_is_no_character_are_refused(tmp_path: Path) -> None:
    items = np.frombuffer(b"\xff\xff\xff\x7f" * 3, "<U1")
    np.savez(path := tmp_path / "x.npz", logits=np.eye(3), item_id=items)
    with pytest.raises(cp.FileError, match="must be an .npz file"):
        cp.read(path)


@pytest.mark.parametrize("ending", [".xlsx", ".npz"])
@pytest.mark.parametrize("lie", [False, True])
def test_an_archive_is_counted_as_it_unpacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, lie: bool
) -> None:
    size, small = (1_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little")
    with zipfile.ZipFile(path := tmp_path / f"bomb{ending}", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("logits.npy" if ending == ".npz" else "xl/sharedStrings.xml", bytes(10**6))
    if lie:  # In the directory and before the part.
        path.write_bytes(path.read_bytes().replace(size, small))
        assert [part.file_size for part in zipfile.ZipFile(path).infolist()] == [10]
    monkeypatch.setattr(limits, "UNPACKED", 500_000)
    with pytest.raises(cp.FileError, match="bomb.* would unpack to .* is the limit: save"):
        cp.read(path)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstd, zipped])
@pytest.mark.parametrize("name", ["readings.csv", "readings.jsonl", "readings.csv.packed"])
def test_a_file_that_is_compressed_is_not_unpacked(
    tmp_path: Path, pack: Callable[[bytes], bytes], name: str
) -> None:
    path = tmp_path / name
    path.write_bytes(pack(pack(bytes(10**6))))
    for read in (files.read_columns, cp.read):
        with pytest.raises(cp.FileError, match=rf"^{path} is compressed with \w+: decompress it"):
            read(path)


@pytest.mark.parametrize("cells", [pa.nulls(10**6, pa.float64()), pa.array(["a" * 10**6])])
def test_parquet_that_says_it_is_huge_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: pa.Array
) -> None:
    path = tmp_path / "huge.parquet"
    pq.write_table(pa.table({"item_id": cells}), path, compression="zstd", use_dictionary=False)
    assert len(files.read_columns(path)) == len(cells)
    monkeypatch.setattr(limits, "UNPACKED", 10**6 - 1)
    with pytest.raises(cp.FileError, match=r"huge.parquet would unpack to 0.0 GB, .* the limit"):
        files.read_columns(path)
    monkeypatch.setattr(limits, "RATIO", 10**6)
    assert len(files.read_columns(path)) == len(cells)


def test_a_footer_that_is_damaged_is_for_its_reader(tmp_path: Path) -> None:
    path = tmp_path / "damaged.parquet"
    path.write_bytes(b"PAR1" + b"\x19\xfc" * 9 + b"\x12\0\0\0PAR1")
    with pytest.raises(cp.FileError, match="damaged or holds what cannot be read"):
        files.read_columns(path)


def test_a_wide_table_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "COLUMNS", 3)
    path = tmp_path / "wide.csv"
    path.write_text("item_id,a,b,c\n1,2,3,4\n")
    with pytest.raises(cp.FileError, match="has 4 columns; 3 is the limit"):
        files.read_columns(path)


@pytest.mark.parametrize("text", ['{"a": ' + "[" * 200 + "]" * 200 + "}", '{"a": "bb"}'])
@pytest.mark.parametrize("ending", [".jsonl", ".json"])
def test_long_and_deep_records_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, ending: str
) -> None:
    path = tmp_path / f"rows{ending}"
    path.write_text(text)
    monkeypatch.setattr(limits, "RECORD", 1000 if "[" in text else 5)
    with pytest.raises(cp.FileError, match="is the limit|than the limit"):
        _ = files.read_columns(path) if ending == ".jsonl" else [*read_rows(path)]


def test_an_object_over_several_lines_is_a_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "one.json"
    path.write_text('{\n"a": "bb"}')
    assert len([*read_rows(path)]) == 1
    monkeypatch.setattr(limits, "RECORD", 5)
    with pytest.raises(cp.FileError, match="the file is longer than the limit"):
        _ = [*read_rows(path)]


def test_brackets_in_a_text_are_no_depth(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": "' + "[" * 500 + '"}')
    assert len(files.read_columns(path)) == 1


@pytest.mark.nightly
def test_a_long_scale_is_warned_of() -> None:
    settings = cp.Cordial().settings
    settings.check(np.zeros((3, 14)), {})
    for size, problem in (15, "three times as long"), (51, "'mixture-vector' and 'bridge', seldom"):
        with pytest.warns(cp.CordialWarning, match=f"{problem}.* to fewer options, 11"):
            settings.check(np.zeros((3, size)), {})


def test_columns_that_are_passed_on_take_no_query_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = Counter[int]()

    def collect(self: Columns, *expressions: str | pl.Expr) -> pl.DataFrame:
        queries[size] += 1
        return query(self, *expressions)

    def concat(*parts: Any, **settings: Any) -> Any:
        queries[size] += 1
        return join(*parts, **settings)

    query, join = Columns.collect, pl.concat
    monkeypatch.setattr(Columns, "collect", collect)
    monkeypatch.setattr(pl, "concat", concat)
    for size in (150, 300):
        cells = {"item_id": ["a", "b", "a", "b"], "reader": [*"xxyy"], "p_1": [0.5] * 4}
        cells |= {"p_2": [0.5] * 4} | {f"e{k}": [k, 2, k, 2] for k in range(size)}
        write_table(tmp_path / "r.csv", cells)
        assert len(read_several([tmp_path / "r.csv"]).extras) == size
        table = read_readings(tmp_path / "r.csv", reader="x")
        assert len(list_cells(table.columns, [0, 1])) == size < len(table.extras)
        with pytest.raises(cp.InputError):
            read_readings(tmp_path / "r.csv", id=["nothing"])
    assert queries[150] == queries[300]
