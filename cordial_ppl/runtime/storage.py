"""Storage: one file that holds something fitted, as data only.

The file has the safetensors format: arrays, and JSON in its metadata that names the kind of the
contents, holds the settings and a SHA-256 digest of everything.  Nothing in it can be run, equal
contents give equal bytes, and a file that differs from what was written is refused.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import msgspec
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from cordial_ppl.errors import ChannelError, CordialError, FileError, as_path
from cordial_ppl.runtime.outputs import replacing
from cordial_ppl.runtime.platform import counting_memory

VERSION = 3
"""Version of the layout; it rises when an older program could misread the file."""

MAKERS = {
    "calibrator": "cordial fit",
    "prior": "cordial learn-prior",
    "fusion": "cordial fuse --save",
}
"""The commands that write files of a kind."""


class Record(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Typed contents of a file; the annotation of an array gives its type and shape.

    Names of axes begin with an underscore: jaxtyping then counts them, and compares none with those
    of another record.

    Raises:
        ValueError: an axis of one name has several lengths.
    """

    def __post_init__(self) -> None:
        """Compare the axes of all arrays."""
        lengths: dict[str, int] = {}
        for field in msgspec.structs.fields(self):
            array = getattr(self, field.name)
            for hint in (field.type, *get_args(field.type)):
                axes = getattr(hint, "dim_str", "").partition("...")[0].split()
                shape = array.shape if isinstance(array, np.ndarray) else ()
                for axis, length in zip(axes, shape, strict=False):
                    if lengths.setdefault(axis, length) != length:
                        raise ValueError(f"{field.name} has length {length}, not {lengths[axis]}")

    @classmethod
    def take[R: "Record"](cls: type[R], *sources: Any, **others: Any) -> R:
        """Make a record of what sources have under the names of its fields, and of other values."""
        names = [name for name in cls.__struct_fields__ if name not in others]
        pairs = ((source, name) for source in sources for name in names if hasattr(source, name))
        return cls(**{name: getattr(source, name) for source, name in pairs}, **others)

    def give[T](self, kind: type[T], **others: Any) -> T:
        """Make an object of a data class of the record's fields of the same names, and others."""
        names = {field.name for field in fields(kind)} & {*self.__struct_fields__}  # pyright: ignore[reportArgumentType]
        return kind(**{name: getattr(self, name) for name in names} | others)

    def save(self, path: str | Path, kind: str) -> None:
        """Write the record to one file, as `write` does."""
        write(path, kind, *pack(self))

    @classmethod
    def load[R: "Record"](cls: type[R], path: str | Path, kind: str) -> R:
        """Read a record that `save` wrote; errors are those of `read`."""
        meta, arrays = read(path, kind)
        with blaming(path):
            record = msgspec.convert(meta, cls, dec_hook=lambda _, name: arrays.pop(name))
            if arrays:
                raise ValueError(f"unexpected array {next(iter(arrays))!r}")
            return record


def pack(record: Record) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Separate a record into settings and arrays.

    Returns:
        Settings, in which each array is replaced by its name, and the arrays by name.
    """
    arrays: dict[str, np.ndarray] = {}

    def separate(value: Any, name: str) -> Any:
        if isinstance(value, np.ndarray):
            name += f".{len(arrays)}" * (name in arrays)  # A key may hold a dot.
            arrays[name] = value
            return name
        if isinstance(value, dict):
            return {key: separate(part, f"{name}.{key}".strip(".")) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [separate(part, f"{name}.{index}") for index, part in enumerate(value)]
        return value

    plain = msgspec.to_builtins(record, builtin_types=(np.ndarray,), enc_hook=np.generic.item)
    return separate(plain, ""), arrays


def write(path: str | Path, kind: str, meta: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write settings and arrays to one file, whole or not at all.

    Args:
        path: The file; one that is there already is replaced.
        kind: What the file holds, such as "calibrator"; `read` asks for it.
        meta: Settings that JSON can express, or NaN.
        arrays: Arrays of finite numbers (or of booleans), by name.

    Raises:
        CordialError: A number in an array is not finite, or a value has a type that the file cannot
            hold.
        FileError: The file cannot be written; nothing is left behind.
    """
    # safetensors takes the memory as it is, whatever the order of the axes.
    copies = {name: np.array(array, order="C") for name, array in arrays.items()}
    header = {"version": VERSION, "kind": kind, "meta": meta}
    try:
        header["digest"] = _digest(kind, meta, copies)
        data = save(copies, {"cordial": json.dumps(header)})
    except (TypeError, ValueError, SafetensorError) as error:
        raise CordialError(f"cannot save {path}: {error}.") from error
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def read(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read what `write` wrote, after checking that it is exactly that.

    Args:
        path: The file.
        kind: What the file has to hold.

    Returns:
        The settings, and the arrays by name.

    Raises:
        FileError: The file cannot be read, is of another format, kind or version, is damaged, or
            was changed since it was written.
    """
    with _opening(path, kind) as (file, header):
        if header["kind"] != kind:
            made = f", made by `{MAKERS[kind]}`" if kind in MAKERS else ""
            raise FileError(f"{path} contains a {header['kind']!r}; expected a {kind!r}{made}.")
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if header["digest"] != _digest(kind, header["meta"], arrays):
            raise ValueError("the contents do not match the digest")
        return header["meta"], arrays


def find_kind(path: str | Path) -> str:
    """Return the kind that a file says it holds, before its contents are checked.

    Raises:
        FileError: The file cannot be read, or is of another format or version.
    """
    with _opening(path, "calibrator") as (_, header):
        return header["kind"]


def require(fitting: Any, fault: str) -> None:
    """Raise a ``ValueError`` that names the fault if parts of a file do not fit together."""
    if not fitting:
        raise ValueError(fault)


@contextmanager
def blaming(path: str | Path) -> Iterator[None]:
    """Blame a file for what goes wrong with its contents.

    Raises:
        FileError: Something did, other than in a channel file or with the machine.
    """
    try:
        with counting_memory():
            yield
    except Exception as error:  # A hostile file may make its parsers raise anything.
        if isinstance(error, FileError | ChannelError) or type(error) is CordialError:
            raise
        plain = isinstance(error, ValueError | msgspec.MsgspecError)
        reason = "".join(filter(str.isprintable, str(error) if plain else repr(error)))
        problem = f"{path} is damaged or was changed: {reason[:200].rstrip('.')}."
        raise FileError(f"{problem} Create the file again.") from error


@contextmanager
def _opening(path: str | Path, kind: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Open a file and read its header."""
    try:
        with as_path(path).open("rb") as begun:
            start = begun.read(64)
    except OSError as error:
        raise FileError(f"cannot read {path}: {getattr(error, 'strerror', error)}.") from error
    if not start[8:].startswith(b'{"__metadata__":{"cordial":"'):
        hint = f" Create a {kind} with `{MAKERS[kind]}`." if kind in MAKERS else ""
        raise FileError(f"{path} was not saved by cordial.{hint}")
    with blaming(path), safe_open(path, "np") as file:
        header = json.loads(file.metadata()["cordial"])
        if header["version"] != VERSION:
            raise FileError(
                f"{path} uses file format {int(header['version'])}, but this version reads "
                f"format {VERSION}. Fit again, or install the version that wrote the file."
            )
        yield file, header


def _digest(kind: str, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """Check that all numbers are finite, and compute the SHA-256 of the contents."""
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
            raise ValueError(f"array {name!r} must contain finite numbers; found {array.dtype}")
    content = json.dumps((VERSION, kind, meta)).encode() + save(dict(arrays))
    return hashlib.sha256(content).hexdigest()
