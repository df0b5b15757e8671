"""NumPy's `.npz`: readings of K options as one array.

One array `logits`, `logprobs`, `probs` or `counts` [n, K], and perhaps `item_id` [n], `labels` [n]
and `options` [K].  Nothing that would run code is loaded.
"""

import warnings
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cordial_ppl.errors import CordialWarning, FileError, InputError
from cordial_ppl.formats.evidence import Numbers, Record
from cordial_ppl.formats.masses import ROUNDING
from cordial_ppl.formats.wrapping import as_text
from cordial_ppl.readings import readings_from_counts, readings_from_probabilities

KINDS = {"logits": "logit", "logprobs": "logprob", "probs": "p", "counts": "n"}
"""What an array of that name holds."""

LARGEST = 1 << 30
"""Bytes that the arrays may have once they are unpacked."""


def recognises(path: Path, first: Mapping[str, Any] | None) -> bool:
    """Say whether a file is NumPy's, by its ending."""
    del first
    return path.suffix.lower() == ".npz"


def read(path: Path) -> Iterator[Record]:
    """Read a file of arrays: a record for each row."""
    arrays = _load(path)
    names = [name for name in KINDS if name in arrays]
    if len(names) != 1:
        raise InputError(
            f"expected one array of {', '.join(KINDS)}; found {', '.join(arrays) or 'nothing'}."
        )
    (name,) = names
    values = arrays[name]
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise InputError(
            f"`{name}` must be numbers [n, K]; found {values.dtype} {list(values.shape)}."
        )
    _check(name, values)
    items, labels = (_column(arrays, own, len(values)) for own in ("item_id", "labels"))
    options = _column(arrays, "options", values.shape[1])
    for i, row in enumerate(np.asarray(values, np.float64).tolist()):
        evidence = Numbers(KINDS[name], row, options)
        label = labels[i] or None if labels else None
        yield Record(items[i] if items else None, evidence, f"row {i}", label=label)


def _check(name: str, values: np.ndarray) -> None:
    """Raise where numbers are not what their array is called."""
    if name == "probs":
        with warnings.catch_warnings():
            # Whoever reads the table is warned of zeros.
            warnings.simplefilter("ignore", CordialWarning)
            readings_from_probabilities(values)
    elif name == "counts":
        readings_from_counts(values)
    elif name == "logprobs" and (values > ROUNDING).any():
        row = int(np.argmax((values > ROUNDING).any(axis=1)))
        raise InputError(
            f"row {row}: log-probabilities must be 0 or below; found {values[row].max():g}. "
            "Call the array `logits` if they are that."
        )


def _load(path: Path) -> dict[str, np.ndarray]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            if sum(info.file_size for info in arrays.zip.infolist()) > LARGEST:
                raise FileError(f"{path} must unpack to at most {LARGEST >> 20} MB; it has more.")
            return {name: arrays[name] for name in arrays.files}
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except (ValueError, TypeError, EOFError, NotImplementedError, zipfile.BadZipFile) as error:
        raise FileError(
            f"{path} must be an .npz of numbers and texts; it is none, was cut off, or holds "
            "objects, which are not loaded."
        ) from error


def _column(arrays: Mapping[str, np.ndarray], name: str, size: int) -> list[str] | None:
    if name not in arrays:
        return None
    found = arrays[name]
    if found.shape != (size,):
        raise InputError(f"`{name}` must have the shape [{size}]; found {list(found.shape)}.")
    return [as_text(cell) or "" for cell in found.tolist()]
