"""Limits: what a file or an argument may ask for, refused by name beyond."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

import cordial_ppl as cp
from cordial_ppl.data import limits
from cordial_ppl.data.scale import Scale
from cordial_ppl.logs.rows import read_rows
from cordial_ppl.tables import files


def test_a_scale_has_201_options_at_most() -> None:
    assert Scale.default(201).size == 201
    with pytest.raises(cp.InputError, match="201 options at most; found 10,000"):
        cp.RawReading().fit(np.zeros((3, 10_000)), [0, 1, 2])


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
        file.writestr("xl/worksheets/sheet1.xml", '<c r="A1"/><c r="XFD1048576"/>')
    with pytest.raises(cp.FileError, match="row 1,048,576 and one in column 16,384"):
        files._check_extent(path)
    monkeypatch.setattr(limits, "UNPACKED", 10)
    with pytest.raises(cp.FileError, match="would unpack to"):
        files.check_archive(path)


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


def test_brackets_in_a_text_are_no_depth(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": "' + "[" * 500 + '"}')
    assert len(files.read_columns(path)) == 1


@pytest.mark.nightly
def test_a_long_scale_is_warned_of() -> None:
    settings = cp.Cordial().settings
    with pytest.warns(cp.CordialWarning, match="'mixture-vector' and 'bridge'.* to fewer options"):
        settings.check(np.zeros((3, 51)), {})
