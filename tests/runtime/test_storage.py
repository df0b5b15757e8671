"""Storage: what is read is what was written, or one clear error."""

import json
import os
import stat
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from safetensors import safe_open
from safetensors.numpy import save

from cordial_ppl.errors import CordialError, FileError
from cordial_ppl.runtime import storage
from cordial_ppl.runtime.outputs import replacing

META = {"options": ["sehr schlecht", "坏", "3"], "weights": {"b": 0.1, "a": 1 / 3}, "seed": None}
ARRAYS = {
    "draws": np.random.default_rng(0).normal(size=(7, 5)),
    "count": np.array(3, np.int64),
    "flags": np.array([True, False]),
    "empty": np.zeros((0, 4), np.float32),
}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "saved.cordial"
    storage.write(path, "calibrator", META, ARRAYS)
    return path


def assert_same(found):
    meta, stored = found
    assert json.dumps(meta) == json.dumps(META) and stored.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(stored[name], array, strict=True)


@given(
    array=arrays(
        st.sampled_from([np.float64, np.float32, np.int32, np.uint8, np.bool_, ">f8", ">i4"]),
        array_shapes(min_dims=0, min_side=0, max_dims=3),
        elements={"allow_nan": False, "allow_infinity": False},
    ),
    meta=st.dictionaries(st.text(), st.none() | st.booleans() | st.floats(-1e300, 1e300)),
)
def test_any_plain_data_round_trips(tmp_path_factory, array, meta):
    path = tmp_path_factory.mktemp("files") / "x"
    storage.write(path, "thing", meta, {"array": array, "turned": array.T})
    found, values = storage.read(path, "thing")
    assert found == meta and values["array"].flags.writeable
    np.testing.assert_array_equal(values["array"], array)
    np.testing.assert_array_equal(values["turned"], array.T)


def test_equal_contents_give_equal_bytes_that_other_tools_read(saved, tmp_path):
    assert_same(storage.read(saved, "calibrator"))
    storage.write(tmp_path / "again", "calibrator", META, ARRAYS)
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()
    with safe_open(saved, "np") as file:
        np.testing.assert_array_equal(file.get_tensor("draws"), ARRAYS["draws"])
        assert json.loads(file.metadata()["cordial"])["meta"] == META
    whole = saved.read_bytes()
    for length in range(0, len(whole), 29):
        saved.write_bytes(whole[:length])
        with pytest.raises(FileError, match=r"saved.cordial (is damaged|was not saved by cordial)"):
            storage.read(saved, "calibrator")
    for position in range(0, len(whole), 5):
        changed = bytearray(whole)
        changed[position] ^= 0x41
        saved.write_bytes(changed)
        with pytest.raises(FileError, match="saved.cordial"):
            storage.read(saved, "calibrator")


def forge(path, header=None, arrays=None):
    """Write a file with a digest that fits, unless the header gives another."""
    arrays = ARRAYS if arrays is None else arrays
    full = {"version": storage.VERSION, "kind": "calibrator", "meta": META}
    content = json.dumps((storage.VERSION, "calibrator", META)).encode() + save(arrays)
    full["digest"] = storage.hashlib.sha256(content).hexdigest()
    full = {key: value for key, value in (full | (header or {})).items() if value != "nothing"}
    path.write_bytes(save(arrays, {"cordial": json.dumps(full)}))


@pytest.mark.parametrize(
    ("header", "arrays", "message"),
    [
        ({"version": 2}, None, "uses file format 2, but this .* reads format 3. Fit again"),
        ({"kind": "prior"}, None, "contains a 'prior'; expected a 'calibrator', made by `cordial"),
        ({"meta": META | {"seed": 1}}, None, "do not match the digest"),
        ({}, {"count": np.array(np.nan)}, "'count' must contain finite numbers"),
        ({}, {"count": np.zeros(2, np.complex64)}, "finite numbers; found complex64"),
    ],
)
def test_a_changed_file(tmp_path, header, arrays, message):
    forge(tmp_path / "saved.cordial")
    assert_same(storage.read(tmp_path / "saved.cordial", "calibrator"))
    forge(tmp_path / "saved.cordial", header, arrays)
    with pytest.raises(FileError, match=message):
        storage.read(tmp_path / "saved.cordial", "calibrator")


def test_other_files(tmp_path):
    (tmp_path / "r.csv").write_text("item_id,label\n")
    (tmp_path / "plain").write_bytes(save(ARRAYS))
    for name, message in {
        "r.csv": "r.csv was not saved by cordial. Create a calibrator with `cordial fit`",
        "plain": "plain was not saved by cordial",
        "none": "cannot read .*No such file",
        ".": "cannot read .*directory",
        "\0": "cannot read",
    }.items():
        for read in (lambda path: storage.read(path, "calibrator"), storage.find_kind):
            with pytest.raises(FileError, match=message):
                read(tmp_path / name)


@pytest.mark.parametrize(
    ("meta", "stored"),
    [
        ({"x": np.float32(1)}, {}),
        ({}, {"x": np.array([1, np.inf])}),
        ({}, {"x": np.array(["a"])}),
        ({}, {"x": np.array([{}], object)}),
    ],
)
def test_what_cannot_be_saved_leaves_the_old_file(saved, tmp_path, meta, stored):
    old = saved.read_bytes()
    with pytest.raises(CordialError, match="cannot save .*saved.cordial: "):
        storage.write(saved, "calibrator", meta, stored)
    assert saved.read_bytes() == old and list(tmp_path.iterdir()) == [saved]
    with pytest.raises(FileError, match="cannot write"):
        storage.write(tmp_path / "none" / "x", "calibrator", {}, {})


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o666])
def test_who_may_read_a_file_may_read_the_one_in_its_place(tmp_path, mode):
    path, link = tmp_path / "x", tmp_path / "link"
    path.write_text("old")
    path.chmod(mode)
    link.symlink_to(path)
    with replacing(link) as temporary:
        # Nobody else may read what is being written, either.
        assert stat.S_IMODE(temporary.stat().st_mode) & ~mode & 0o077 == 0
        temporary.write_text("new")
    assert path.read_text() == "new" and stat.S_IMODE(path.stat().st_mode) == mode
    with replacing(tmp_path / "fresh") as temporary:
        temporary.write_text("new")
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o666 & ~umask


WRITER = """
import sys
import numpy as np
from cordial_ppl.runtime import storage

path, value = sys.argv[1], float(sys.argv[2])
array = np.full(100_000, value)
while True:
    storage.write(path, "thing", {"value": value}, {"array": array})
"""


@pytest.mark.nightly
def test_two_writers_that_are_killed_leave_one_whole_file(tmp_path):
    """Whenever the kill comes, the file is what one of them wrote, and what is half has no name."""
    path, seen = tmp_path / "saved.cordial", set()

    def read():
        meta, arrays = storage.read(path, "thing")
        assert (arrays["array"] == meta["value"]).all()
        return meta["value"]

    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, value]) for value in ("1", "2")]
    try:
        deadline = time.monotonic() + 60
        while len(seen) < 2 and time.monotonic() < deadline:
            seen |= {read()} if path.exists() else set()
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
    assert seen == {1.0, 2.0} and read() in seen
    others = [file for file in tmp_path.iterdir() if file != path]
    assert len(others) <= 2 and all(file.name.startswith(".") for file in others)
