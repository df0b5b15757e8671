"""NumPy's `.npz`: readings of K options as one array.

One array `logits`, `logprobs`, `probs` or `counts` [n, K], and perhaps `item_id` [n], `labels` [n]
and `options` [K]. Nothing that would run code is loaded.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from cordial_ppl.errors import FileError, InputError
from cordial_ppl.logs.evidence import Record, Scores, as_text
from cordial_ppl.logs.format import Format

KINDS = {"logits": "logit", "logprobs": "logprob", "probs": "p", "counts": "n"}
"""What an array of that name holds."""


def _read(path: Path) -> Iterator[Record]:
    """Read a file of arrays: a record for each row."""
    arrays = _load(path)
    names = [name for name in KINDS if name in arrays]
    if len(names) != 1:
        description = ", ".join(arrays) or "nothing"
        raise InputError(f"expected one of the arrays {', '.join(KINDS)}; found {description}.")
    (name,) = names
    values = arrays[name]
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        description = f"{values.dtype} {list(values.shape)}"
        raise InputError(f"`{name}` must be numbers [n, K]; found {description}.")
    n, size = values.shape
    items, labels = (_column(arrays, field, n) or [None] * n for field in ("item_id", "labels"))
    options = _column(arrays, "options", size)
    rows = zip(items, labels, np.asarray(values, np.float64).tolist(), strict=True)
    for i, (item, label, row) in enumerate(rows):
        evidence = Scores(KINDS[name], row, options)
        yield Record(f"row {i}", item or None, evidence, label=label or None)


def _load(path: Path) -> dict[str, np.ndarray]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            loaded = {name: arrays[name] for name in arrays.files}
            for cells in loaded.values():
                if cells.dtype.kind == "U":
                    cells.tolist()  # Raises if one of its numbers is no character.
            return loaded
    except OSError:
        raise
    except Exception as error:  # Whatever a damaged archive makes NumPy raise.
        raise FileError(
            f"{path} must be an .npz file of numbers and texts; it has another format, was cut "
            "off, or holds Python objects, which are never loaded."
        ) from error


def _column(arrays: Mapping[str, np.ndarray], name: str, size: int) -> list[str] | None:
    if name not in arrays:
        return None
    cells = arrays[name]
    if cells.shape != (size,):
        raise InputError(f"`{name}` must have the shape [{size}]; found {list(cells.shape)}.")
    return [as_text(cell) or "" for cell in cells.tolist()]


FORMAT = Format("npz", "NumPy arrays", _read, ending=".npz")
