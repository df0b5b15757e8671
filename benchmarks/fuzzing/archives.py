"""Workbooks and other archives: damaged, one within another, of huge dimensions, and bombs."""

import io
import random
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import cordial_ppl as cp
from cordial_ppl.tables import read_readings
from fuzzing.door import Door, attempt
from fuzzing.mutations import damage_bytes, damage_lines
from fuzzing.tables import readings

LARGE = 1 << 26
"""Bytes of a part that is hardly larger than nothing when it is packed."""

FAR = (
    "XFD1048576",
    f"XFD{'0' * 30}1048576",
    "A1048576",
    "XFD1",
    "A99999999",
    "ZZZZ1",
    "A0",
    "1A",
    "",
)
SHEETS = "worksheets/Sub/sheet1.xml", "data.xml", "Worksheets/Sheet1.XML"
"""Names that the part of a sheet may have, too."""


def _write(rng: random.Random, ending: str) -> bytes:
    file = io.BytesIO()
    if ending == "xlsx":
        pl.DataFrame(readings(rng), strict=False).write_excel(file)
    else:
        np.savez_compressed(file, logits=np.eye(4), item_id=np.array([*"abcd"]))
    return file.getvalue()


def _make(ending: str, rng: random.Random, folder: Path) -> Path:
    data = _write(rng, ending)
    how = rng.randrange(5)
    if how == 0:
        data = damage_bytes(rng, data)
    else:
        data = _repack(rng, how, data)
    path = folder / f"archive.{rng.choice((ending, ending, ending, ending, 'csv', 'eval'))}"
    path.write_bytes(data)
    return path


def _repack(rng: random.Random, how: int, data: bytes) -> bytes:
    """Pack the parts of an archive again, one of them damaged."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    name = rng.choice(list(parts))
    if how == 1:
        parts[name] = damage_bytes(rng, parts[name])
    elif how == 2 and name.endswith("xml"):
        text = damage_lines(rng, parts[name].decode().replace(">", ">\n"))
        parts[name] = text.encode("utf-8", "surrogatepass")
    elif how == 3:
        name = next((name for name in parts if "worksheets/sheet" in name), name)
        cell, far = rng.choice((b"A1", b"B2", b"A1:B9")), rng.choice(FAR).encode()
        parts[name] = parts[name].replace(b'"' + cell, b'"' + far, rng.choice((1, 9)))
        relations, other = "xl/_rels/workbook.xml.rels", rng.choice(SHEETS)
        if relations in parts and rng.random() < 0.5:
            parts[f"xl/{other}"] = parts.pop(name)
            old, new = name.removeprefix("xl/").encode(), other.encode()
            parts[relations] = parts[relations].replace(old, new)
    else:
        inner = {"inner.zip": data, name: bytes(LARGE), f"{name}2": data}
        parts |= dict([rng.choice(list(inner.items()))])
    packed = io.BytesIO()
    packing = rng.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, 0, zipfile.ZIP_BZIP2))
    with zipfile.ZipFile(packed, "w", packing) as file:
        for part, content in parts.items():
            file.writestr(part, content)
    data = packed.getvalue()
    if rng.random() < 0.2:  # The directory says that a part is smaller.
        data = data.replace(LARGE.to_bytes(4, "little"), (9).to_bytes(4, "little"))
    return data


def _enter_workbook(path: Path, folder: Path) -> None:
    attempt(cp.read, path)
    table: Any = read_readings(path)
    assert np.isfinite(table.logits).all() and len(table.item_ids) == len(table.logits)


def _enter_arrays(path: Path, folder: Path) -> None:
    assert all(len(cells) for cells in cp.read(path).readings.values())


DOORS = [
    Door("workbooks", partial(_make, "xlsx"), _enter_workbook),
    Door("archives of arrays", partial(_make, "npz"), _enter_arrays),
]
"""What is packed."""
