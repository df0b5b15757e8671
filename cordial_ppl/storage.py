"""Storage: one file that holds something fitted, as data only.

The file is a zip archive of uncompressed members: `meta.json` (what the file is, its settings, and
the type, shape and SHA-256 digest of every array) and one `.npy` file an array. Nothing in it can
be run, equal contents give equal bytes, and whatever is not as written is turned away on reading.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cordial_ppl.errors import CordialError, FileError
from cordial_ppl.outputs import replacing

FORMAT = "cordial"
VERSION = 1
"""Version of the layout; it rises when an older program could misread the file."""

LARGEST = 1 << 30
"""Bytes that a file may have."""

MAKERS = {
    "judge": "cordial fit",
    "prior": "cordial learn-prior",
    "fusion": "cordial fuse --save",
}
"""The commands that write files of a kind."""

META = "meta.json"
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time stamp of every member: the first that a zip archive can express."""


def write(path: str | Path, kind: str, meta: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write settings and arrays to one file, whole or not at all.

    Args:
        path: The file; one that is there already is replaced.
        kind: What the file holds, such as "judge"; asked for again on reading.
        meta: Settings that JSON can express, with names for keys; None for a number that is not
            there.
        arrays: Arrays of finite numbers (or of booleans), by name.

    Raises:
        CordialError: A number is not finite, or a value is none that the file can hold.
        FileError: The file cannot be written; nothing is left behind.
    """
    members = {name: _to_npy(name, array) for name, array in arrays.items()}
    stated = {name: _state(np.asarray(array), members[name]) for name, array in arrays.items()}
    content = {"kind": kind, "arrays": stated, "meta": dict(meta)}
    try:
        header = {"format": FORMAT, "version": VERSION, "digest": _digest(content), **content}
        text = json.dumps(header, ensure_ascii=False, allow_nan=False, indent=1)
    except (TypeError, ValueError) as error:
        raise CordialError(
            f"cannot save {path}: the settings are not plain data: {error}."
        ) from error
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        archive.writestr(_member(META), text.encode())
        for name, data in members.items():
            archive.writestr(_member(f"{name}.npy"), data)


def read(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read what `write` wrote, after checking that it is exactly that.

    Args:
        path: The file.
        kind: What the file has to hold.

    Returns:
        The settings, and the arrays by name.

    Raises:
        FileError: The file cannot be read, is of another format, kind or a newer version, is
            damaged, or was changed since it was written.
    """
    path = Path(path)
    try:
        members = _read_members(path, kind)
        header = json.loads(members.pop(META), parse_constant=_reject_constant)
        _check_header(path, header, kind)
        stated = header["arrays"]
        expected = {f"{name}.npy" for name in stated}
        if set(members) != expected:
            odd = sorted(set(members) ^ expected)
            raise _damaged(path, f"{odd[0]!r} is missing or does not belong there")
        arrays = {
            name: _from_npy(path, name, members[f"{name}.npy"], stated[name]) for name in stated
        }
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except FileError:
        raise
    # Whatever a hostile file makes the parsers of zip, JSON and .npy raise, it is the file's fault.
    except Exception as error:
        raise _damaged(path, str(error) or type(error).__name__) from error
    return header["meta"], arrays


def find_kind(path: str | Path) -> str | None:
    """What a file says it holds, before anything of it is checked; None where it does not say."""
    try:
        with zipfile.ZipFile(path) as archive:
            info = archive.getinfo(META)
            # What is compressed could unpack to far more than the file has.
            if info.compress_type != zipfile.ZIP_STORED or info.file_size > LARGEST:
                return None
            kind = json.loads(archive.read(META))["kind"]
    except Exception:  # What is wrong with it is said by who reads it.
        return None
    return kind if isinstance(kind, str) else None


def _read_members(path: Path, kind: str) -> dict[str, bytes]:
    """The bytes of every member, by name."""
    if path.stat().st_size > LARGEST:
        raise FileError(f"{path} is larger than {LARGEST >> 20} MiB: it was not saved by cordial.")
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            # A truncated archive has lost its directory at the end but still starts like one.
            file.seek(0)
            if file.read(2) == b"PK":
                raise _damaged(path, "its end is missing")
            maker = MAKERS.get(kind)
            hint = f" Make one with `{maker}`." if maker else ""
            raise FileError(f"{path} was not saved by cordial.{hint}")
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
            names = [info.filename for info in infos]
            if META not in names:
                raise FileError(f"{path} was not saved by cordial: it has no {META}.")
            if len(set(names)) < len(names):
                raise _damaged(path, "a member occurs twice")
            if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
                raise _damaged(path, "its members are compressed")
            if sum(info.file_size for info in infos) > LARGEST:
                raise _damaged(path, "its members overlap")
            return {info.filename: archive.read(info) for info in infos}


def _check_header(path: Path, header: Any, kind: str) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise FileError(f"{path} was not saved by cordial: its {META} does not say so.")
    version = header.get("version")
    if type(version) is not int or version < 1:
        raise _damaged(path, f"its version is {version!r}")
    if version > VERSION:
        raise FileError(
            f"{path} was written by a newer version of cordial_ppl (file format {version}, this "
            f"one reads up to {VERSION}): upgrade with pip install --upgrade cordial-ppl."
        )
    content = {key: header[key] for key in ("kind", "arrays", "meta")}
    if header["digest"] != _digest(content):
        raise _damaged(path, f"{META} does not match its digest")
    if header["kind"] != kind:
        made = f", as `{MAKERS[kind]}` makes it" if kind in MAKERS else ""
        raise FileError(f"{path} holds a {header['kind']!r}; a {kind!r} is needed{made}.")


def _to_npy(name: str, array: Any) -> bytes:
    values = np.asarray(array)
    if values.dtype.kind not in "biuf":
        raise CordialError(f"cannot save array {name!r}: it holds {values.dtype}, not numbers.")
    if not np.isfinite(values).all():
        raise CordialError(f"cannot save array {name!r}: it holds numbers that are not finite.")
    file = io.BytesIO()
    little = np.asarray(values, values.dtype.newbyteorder("<"), order="C")
    np.lib.format.write_array(file, little, version=(1, 0), allow_pickle=False)
    return file.getvalue()


def _from_npy(path: Path, name: str, data: bytes, stated: dict[str, Any]) -> np.ndarray:
    file = io.BytesIO(data)
    if np.lib.format.read_magic(file) != (1, 0):
        raise _damaged(path, f"array {name!r} is of an unknown layout")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if fortran or dtype.kind not in "biuf":
        raise _damaged(path, f"array {name!r} holds {dtype}, not numbers")
    # Compared before anything is allocated: a header can claim any shape.
    values = np.frombuffer(data, dtype, offset=file.tell()).reshape(shape).copy()
    if _state(values, data) != stated:
        raise _damaged(path, f"array {name!r} does not match its stated type, shape and digest")
    if not np.isfinite(values).all():
        raise _damaged(path, f"array {name!r} holds numbers that are not finite")
    return values


def _state(array: np.ndarray, data: bytes) -> dict[str, Any]:
    digest = hashlib.sha256(data).hexdigest()
    return {"dtype": array.dtype.name, "shape": list(array.shape), "digest": digest}


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, allow_nan=False).encode()).hexdigest()


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, EARLIEST)
    info.create_system = 3
    info.external_attr = 0o644 << 16
    return info


def _damaged(path: Path, what: str) -> FileError:
    # Parsers quote what they could not read, which may be any bytes.
    shown = "".join(c for c in what if c.isprintable())[:100].rstrip(".")
    return FileError(f"{path} is damaged or was changed: {shown}. Fit and save it again.")


def _reject_constant(name: str) -> None:
    raise ValueError(f"{META} holds {name}")
