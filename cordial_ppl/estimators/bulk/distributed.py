"""A large table on Ray: workers predict its parts, one a core.

A part is a range of rows that a worker reads, predicts and writes to a file of its own; Ray moves
only its number. When a worker dies, Ray repeats the part under the same name, so that nothing is
lost or written twice.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from cordial_ppl.estimators.bulk.predictor import predict_table
from cordial_ppl.estimators.saved import load
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.runtime.cluster import run_on_ray
from cordial_ppl.runtime.outputs import replacing
from cordial_ppl.runtime.progress import doing
from cordial_ppl.tables.frame import reading
from cordial_ppl.tables.reading_table import ReadingTable

PART = 1 << 17
"""Rows of a part, and of a file that is written: five seconds of a core."""


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
    texts = 0
    with (
        replacing(output, folder=True) as folder,
        doing("calibrating", len(table), "texts") as stage,
    ):
        shared, parts = (files, table, folder, size), range(-(-rows // size))
        for _, count in run_on_ray(predict_part, shared, parts):
            texts += count
            stage.reach(texts)
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
    texts = predict_table(_load(*files), replace(table, columns=rows), path)
    if not texts:
        path.unlink()
    return texts


@lru_cache(maxsize=1)
def _load(path: Path, channels: tuple[Path, ...]) -> Stack:
    """Load the calibrator, once a worker."""
    return load(path, channels=channels)  # pyright: ignore[reportReturnType]
