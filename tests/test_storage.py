"""Storage: what is read is what was written, or one clear error."""

import json
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from cordial_ppl import storage
from cordial_ppl.errors import CordialError, FileError

META = {"options": ["sehr schlecht", "坏", "3"], "weights": {"b": 0.1, "a": 1 / 3}, "seed": None}
ARRAYS = {
    "mixture/draws": np.random.default_rng(0).normal(size=(7, 5)),
    "count": np.array(3, np.int64),
    "flags": np.array([True, False]),
    "empty": np.zeros((0, 4), np.float32),
}


@pytest.fixture
def judge(tmp_path):
    path = tmp_path / "judge.cordial"
    storage.write(path, "judge", META, ARRAYS)
    return path


def assert_same(found, meta, stored):
    assert found[0] == meta
    assert list(found[0]) == list(meta)
    assert list(found[1]) == list(stored)
    for name, array in stored.items():
        assert found[1][name].dtype == array.dtype
        np.testing.assert_array_equal(found[1][name], array, strict=True)


def test_round_trip(judge):
    assert_same(storage.read(judge, "judge"), META, ARRAYS)


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
    assert found == meta
    np.testing.assert_array_equal(values["array"], array)
    np.testing.assert_array_equal(values["turned"], array.T)
    assert values["array"].flags.writeable


def test_equal_contents_give_equal_bytes(judge, tmp_path):
    again = tmp_path / "again"
    storage.write(again, "judge", META, ARRAYS)
    assert again.read_bytes() == judge.read_bytes()


def test_ordinary_tools_can_look_inside(judge):
    with zipfile.ZipFile(judge) as archive, archive.open("mixture/draws.npy") as file:
        np.testing.assert_array_equal(np.load(file, allow_pickle=False), ARRAYS["mixture/draws"])
        assert json.loads(archive.read("meta.json"))["version"] == storage.VERSION


def test_a_truncated_file(judge):
    whole = judge.read_bytes()
    for length in range(0, len(whole), 97):
        judge.write_bytes(whole[:length])
        with pytest.raises(FileError, match="judge.cordial"):
            storage.read(judge, "judge")


def test_a_changed_byte_is_seen_or_does_not_matter(judge):
    whole = judge.read_bytes()
    seen = 0
    for position in range(0, len(whole), 5):
        changed = bytearray(whole)
        changed[position] ^= 0x41
        judge.write_bytes(changed)
        try:
            assert_same(storage.read(judge, "judge"), META, ARRAYS)
        except FileError as error:
            assert "judge.cordial" in str(error)
            seen += 1
    assert seen > 0.7 * len(whole) / 5


@given(st.binary(max_size=200))
def test_no_contents_raise_anything_else(tmp_path_factory, contents):
    path = tmp_path_factory.mktemp("junk") / "x"
    path.write_bytes(b"PK\3\4" + contents)
    with pytest.raises(FileError):
        storage.read(path, "judge")


def rewrite(path, change, **options):
    """Write the archive again after a change to its members and its parsed meta.json."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members.pop("meta.json"))
    change(header, members)
    content = {key: header[key] for key in ("kind", "arrays", "meta") if key in header}
    header["digest"] = storage._digest(content)
    with zipfile.ZipFile(path, "w", **options) as archive:
        archive.writestr("meta.json", json.dumps(header))
        for name, data in members.items():
            archive.writestr(name, data)


def put(array):
    def change(header, members):
        values = np.asarray(array)
        members["count.npy"] = data = storage._to_npy("count", np.zeros_like(values))
        data = data[: len(data) - values.nbytes] + values.tobytes()
        members["count.npy"] = data
        header["arrays"]["count"] = storage._state(values, data)

    return change


def claim_a_huge_shape(header, members):
    members["count.npy"] = members["count.npy"].replace(b"()", b"(9999999999999,)")


CHANGES = {
    "nothing": (lambda header, members: None, None),
    "newer": (lambda header, members: header.update(version=2), "newer version.*upgrade"),
    "older than any": (lambda header, members: header.update(version=0), "version is 0"),
    "no version": (lambda header, members: header.pop("version"), "version is None"),
    "another format": (lambda header, members: header.update(format="zip"), "not saved by cordial"),
    "another kind": (lambda header, members: header.update(kind="prior"), "holds a 'prior'; a 'ju"),
    "no kind": (lambda header, members: header.pop("kind"), "damaged.*kind"),
    "no arrays": (lambda header, members: header.pop("arrays"), "damaged.*arrays"),
    "a list": (lambda header, members: header.update(arrays=[]), "damaged"),
    "a lost array": (lambda header, members: members.pop("count.npy"), "'count.npy' is missing"),
    "an extra": (lambda header, members: members.update(x=b""), "'x' .*does not belong"),
    "an extra array": (lambda header, members: members.update({"x.npy": b""}), "'x.npy' .*belong"),
    "another shape": (
        lambda header, members: header["arrays"]["count"].update(shape=[1]),
        "'count' does not match",
    ),
    "another type": (
        lambda header, members: header["arrays"]["count"].update(dtype="float64"),
        "'count' does not match",
    ),
    "another digest": (
        lambda header, members: header["arrays"]["count"].update(digest="0"),
        "'count' does not match",
    ),
    "no number": (put(np.array(np.nan)), "'count' holds numbers that are not finite"),
    "infinite": (put(np.array([0, np.inf])), "'count' holds numbers that are not finite"),
    "NaN in the settings": (lambda header, members: header["meta"].update(x=np.nan), "NaN"),
    "huge": (claim_a_huge_shape, "damaged"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_file(judge, name, monkeypatch):
    change, message = CHANGES[name]
    monkeypatch.setattr(storage, "_digest", lambda content: "same")
    rewrite(judge, change)
    if message is None:
        assert_same(storage.read(judge, "judge"), META, ARRAYS)
    else:
        with pytest.raises(FileError, match=message):
            storage.read(judge, "judge")


def test_changed_settings(judge):
    with zipfile.ZipFile(judge) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["meta.json"] = members["meta.json"].replace(b'"3"', b'"4"')
    with zipfile.ZipFile(judge, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(FileError, match="meta.json does not match its digest"):
        storage.read(judge, "judge")


def test_compressed_members_are_turned_away(judge):
    rewrite(judge, lambda header, members: None, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(FileError, match="compressed"):
        storage.read(judge, "judge")


def test_pickled_objects_are_turned_away(judge, tmp_path):
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    data = (tmp_path / "objects.npy").read_bytes()
    rewrite(judge, lambda header, members: members.update({"count.npy": data}))
    with pytest.raises(FileError, match="'count' holds object"):
        storage.read(judge, "judge")


def test_other_files(tmp_path):
    table = tmp_path / "r.csv"
    table.write_text("item_id,label\n")
    with pytest.raises(FileError, match="r.csv was not saved by cordial.*cordial fit"):
        storage.read(table, "judge")
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a", "b")
    with pytest.raises(FileError, match="no meta.json"):
        storage.read(tmp_path / "x.zip", "judge")
    with pytest.raises(FileError, match="cannot read .*No such file"):
        storage.read(tmp_path / "none", "judge")
    with pytest.raises(FileError, match="cannot read"):
        storage.read(tmp_path, "judge")


def test_a_file_too_large(judge, monkeypatch):
    monkeypatch.setattr(storage, "LARGEST", 1000)
    with pytest.raises(FileError, match="larger than"):
        storage.read(judge, "judge")


@pytest.mark.parametrize(
    ("meta", "stored", "message"),
    [
        ({"x": np.nan}, {}, "plain data"),
        ({"x": np.float32(1)}, {}, "plain data"),
        ({}, {"x": np.array([1, np.inf])}, "'x'.*not finite"),
        ({}, {"x": np.array(["a"])}, "'x'.*not numbers"),
        ({}, {"x": np.array([{}], object)}, "'x'.*not numbers"),
    ],
)
def test_what_cannot_be_saved(tmp_path, meta, stored, message):
    with pytest.raises(CordialError, match=message):
        storage.write(tmp_path / "x", "judge", meta, stored)
    assert not list(tmp_path.iterdir())


def test_a_failure_leaves_the_old_file(judge, tmp_path):
    old = judge.read_bytes()
    with pytest.raises(CordialError):
        storage.write(judge, "judge", {}, {"x": np.nan})
    assert judge.read_bytes() == old
    with pytest.raises(FileError, match="cannot write"):
        storage.write(tmp_path / "none" / "x", "judge", {}, {})
