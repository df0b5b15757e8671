"""Writing a table by the ending of its name."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cordial_ppl.errors import FileError, as_path
from cordial_ppl.runtime.outputs import name_endings, replacing
from cordial_ppl.tables.frame import as_series, as_text, first_line

SINKS = {
    ".csv": pl.LazyFrame.sink_csv,
    ".parquet": pl.LazyFrame.sink_parquet,
    ".jsonl": pl.LazyFrame.sink_ndjson,
    ".ndjson": pl.LazyFrame.sink_ndjson,
}
"""Functions that write a table, by the ending of its name."""


def write_table(
    path: str | Path, columns: Mapping[str, Sequence | np.ndarray] | pl.LazyFrame
) -> None:
    """Write a table by the ending of its name: .csv, .parquet, .jsonl or .ndjson.

    Numbers keep their full precision; None becomes an empty cell or a null. A column whose cells
    are of several types, or integers from 2**63 up, becomes text. JSON has no NaN and no infinity,
    which become nulls.

    Args:
        path: The file; one that is there already is replaced.
        columns: The cells of each column, by name, all of one length; or a frame of polars, which
            is written as it is computed and need not fit in memory.

    Raises:
        FileError: The ending is unknown or the file cannot be written; nothing is left behind.
    """
    ending = as_path(path, "write").suffix.lower()
    if ending not in SINKS:
        raise FileError(f"{path}: a table that is written must end in {name_endings(SINKS)}.")
    with replacing(path) as temporary:
        if isinstance(columns, pl.LazyFrame):
            frame = columns
        else:
            frame = pl.DataFrame([as_series(*column) for column in columns.items()]).lazy()
        frame = frame.with_columns(
            # An element of an array reaches Python as an internal object of polars.
            (
                pl.col(name).arr.to_list() if isinstance(kind, pl.Array) else pl.col(name)
            ).map_elements(as_text, pl.String)
            for name, kind in frame.collect_schema().items()
            if not _fits(kind, ending)
        )
        try:
            # polars would hold back Ctrl-C in the thread that calls it.
            with ThreadPoolExecutor(1) as pool:
                pool.submit(SINKS[ending], frame, temporary).result()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise FileError(f"cannot write {path}: {first_line(error)}.") from error


def _fits(kind: Any, ending: str) -> bool:
    """Tell a type that a format can hold."""
    if ending == ".parquet":
        return kind != pl.Struct([])
    if ending == ".csv" and kind.is_nested():
        return False
    parts = [kind]
    for part in parts:
        inner = [field.dtype for field in part.fields] if isinstance(part, pl.Struct) else []
        parts += [part.inner] if isinstance(part, pl.List | pl.Array) else inner
    return not any(isinstance(part, pl.Binary | pl.Duration | pl.Object) for part in parts)
