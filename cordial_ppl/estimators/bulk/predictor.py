"""A calibrator as a function of tables: readings in, predictions out, batch by batch.

On Ray a part is a range of rows that a worker reads, predicts and writes to a file of its own; Ray
moves only its number. When a worker dies, Ray repeats the part under the same name, so that nothing
is lost or written twice.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Float
from polars.io.plugins import register_io_source

from cordial_ppl.data.scale import Scale
from cordial_ppl.estimators.estimator import Estimator
from cordial_ppl.estimators.saved import load
from cordial_ppl.runtime.cluster import run_on_ray
from cordial_ppl.runtime.outputs import replacing
from cordial_ppl.runtime.progress import doing
from cordial_ppl.stack.entering import predict_all
from cordial_ppl.stack.interval import label_range
from cordial_ppl.tables import write_table
from cordial_ppl.tables.columns import is_reading, name_items
from cordial_ppl.tables.frame import reading
from cordial_ppl.tables.reading_table import ReadingTable

LEVEL = 0.9
"""Probability that the mean lies in its interval, and the least that a label lies in its own."""

ROWS = 1 << 15
"""Texts that are predicted at a time."""

PART = 1 << 17
"""Rows of a part on Ray, and of a file that is written."""


def predict_batch(calibrator: Estimator, table: ReadingTable) -> pl.DataFrame:
    """Predict the texts of a table in memory.

    Args:
        calibrator: A fitted calibrator.
        table: The readings.

    Returns:
        The columns `item_id`, `p_<option>`, `mean`, `mean_low`, `mean_high`, `label`,
        `label_low`, `label_high` and, with their types, all others; where texts were not read,
        `unread` says why.

    Raises:
        InputError: A cell is invalid; with its row.
    """
    fit = calibrator.fit_
    covariates = table.covariates(fit.covariates, fit.levels)
    probs, _, *ends = predict_all(fit, table.logits, LEVEL, covariates)
    named = {"item_id": name_items(table.columns)} | name_predictions(fit.scale, probs, *ends)
    predictions = pl.DataFrame(named)
    if table.gaps:
        predictions = predictions.with_columns(table.reasons)
    return add_extras(predictions, table)


def name_predictions(
    scale: Scale, probs: Float[np.ndarray, "m K"], *ends: Float[np.ndarray, " m"]
) -> dict[str, pl.Series]:
    """Make columns of predictions, as `predict_batch` returns them.

    Args:
        scale: The options.
        probs: Their probabilities.
        ends: Lower and upper ends of the intervals of the means, if there are any.
    """
    options = pl.Series(scale.options, dtype=pl.String)
    first, last = label_range(probs, LEVEL)[:: 1 if scale.rising else -1]
    columns = {f"p_{option}": pl.Series(probs[:, k]) for k, option in enumerate(scale.options)}
    columns["mean"] = pl.Series(probs @ scale.values)
    columns |= zip(("mean_low", "mean_high"), map(pl.Series, ends), strict=False)
    labels = {"label": probs.argmax(axis=1), "label_low": first, "label_high": last}
    return columns | {name: options.gather(indices) for name, indices in labels.items()}


def add_extras(
    predictions: pl.DataFrame, table: ReadingTable, but: Collection[str] = ()
) -> pl.DataFrame:
    """Add the other columns of a table, and a single rating, under its name in the file.

    A column whose name is taken becomes `input_...`.

    Args:
        predictions: The predictions, a row per text.
        table: The readings.
        but: Columns that are left out, as are readings of options that only other tasks have.
    """
    names: dict[str, str] = {}
    taken = {*predictions.columns, "rating"}  # Beside probabilities it would be another reading.
    used = ("item_id", *but, *(() if table.kind == "rating" else table.names))
    for name in table.columns.schema:
        if name in used or is_reading(name) and name.startswith(f"{table.kind}_"):
            continue
        new = table.columns.origin.get(name, name) if name == "rating" else name
        while new in taken:
            new = f"input_{new}"
        names[name] = new
        taken.add(new)
    return predictions.hstack(table.columns.collect(*names).rename(names) if names else [])


def predict_table(calibrator: Estimator, table: ReadingTable, output: Path) -> int:
    """Predict a table that has been checked, and need not fit in memory.

    Args:
        calibrator: The fitted calibrator.
        table: The readings.
        output: The table to write, in the order of the readings.

    Returns:
        The number of texts predicted.

    Raises:
        FileError: A file cannot be read or written; nothing is left behind.
    """
    with doing("calibrating", len(table), "texts") as stage:
        parts = (predict_batch(calibrator, batch) for batch in table.batches(ROWS))
        first = next(parts)

        def predictions(*_: Any) -> Iterator[pl.DataFrame]:
            for part in chain([first], parts):
                yield part
                stage.reach(stage.done + len(part))

        write_table(output, register_io_source(predictions, schema=first.schema), table.columns)
    return int(stage.done)


def predict_on_ray(
    calibrator: Path,
    table: ReadingTable,
    output: Path,
    *,
    channels: Sequence[Path] = (),
    size: int = PART,
) -> None:
    """Predict a table on the Ray cluster there is, or on one that is started on this machine.

    All machines must see the files under the same paths.

    Args:
        calibrator: The calibrator's file.
        table: The readings, checked, under an absolute path.
        output: The folder to make, with a file for each part in the order of the readings.
        channels: The channel files that the calibrator was fitted with.
        size: Rows of a part.

    Raises:
        InputError: Ray is not installed.
        FileError: A file cannot be read, or the folder cannot be made; nothing is left behind.
        CordialError: Ray could not finish the work.
    """
    files = calibrator.absolute(), tuple(channel.absolute() for channel in channels)
    with reading(table.columns.path):
        rows = table.columns.frame.select(pl.len()).collect().item()
    with (
        replacing(output, folder=True) as folder,
        doing("calibrating", len(table), "texts") as stage,
    ):
        shared, parts = (files, table, folder, size), range(-(-rows // size))
        for _, count in run_on_ray(predict_part, shared, parts):
            stage.reach(stage.done + count)
        # Unfinished files of workers that died.
        for path in folder.glob(".*"):
            path.unlink()


def predict_part(shared: tuple[Any, ...], part: int) -> int:
    """Predict one part, in a Ray worker.

    Args:
        shared: The calibrator's and the channels' files, the readings, the folder to write to and
            the rows of a part.
        part: The number of the part.

    Returns:
        The number of texts in it.
    """
    files, table, folder, size = shared
    path = folder / f"part-{part:05d}.parquet"
    rows = replace(table.columns, frame=table.columns.frame.slice(part * size, size))
    return predict_table(_load(*files), replace(table, columns=rows), path) if len(rows) else 0


@lru_cache(maxsize=1)
def _load(path: Path, channels: tuple[Path, ...]) -> Estimator:
    """Load the calibrator, once a worker."""
    return load(path, channels=channels)  # pyright: ignore[reportReturnType]
