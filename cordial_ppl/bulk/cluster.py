"""A large table on Ray: workers predict its parts, one a core.

A part is a range of rows that a worker reads, predicts and writes to a file of its own; Ray moves
only its number. When a worker dies, Ray repeats the part under the same name, so that nothing is
lost or written twice.
"""

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from cordial_ppl.bulk.predictor import predict_table
from cordial_ppl.cordial.stack import Stack
from cordial_ppl.errors import CordialError, InputError
from cordial_ppl.outputs import replacing
from cordial_ppl.saved import load
from cordial_ppl.tables.readings import ReadingTable

PART = 1 << 17
"""Rows of a part, and of a file that is written: five seconds of a core."""


def predict_on_ray(
    calibrator: Path,
    table: ReadingTable,
    output: Path,
    show: Callable[[float, str], None],
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
        show: Called with the share of the work that is done, and what it is.
        channels: The channel files that the calibrator was fitted with.
        size: Rows of a part.

    Raises:
        InputError: Ray is not installed.
        FileError: A file cannot be read, or the folder cannot be made; nothing is left behind.
        CordialError: Ray could not finish the work.
    """
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        ray = import_module("ray")
    except ImportError as error:
        raise InputError("--engine ray needs Ray: pip install 'cordial-ppl[ray]'.") from error
    started = not ray.is_initialized()
    if started:
        ray.init(log_to_driver=False, logging_level=logging.ERROR)
    files = calibrator.absolute(), tuple(channel.absolute() for channel in channels)
    texts, total = 0, len(table)
    try:
        with replacing(output, folder=True) as folder:
            task, given = ray.remote(predict_part), ray.put((files, table, folder, size))
            rows = table.columns.frame.select(pl.len()).collect().item()
            waiting = [task.remote(given, part) for part in range(-(-rows // size))]
            while waiting:
                (done,), waiting = ray.wait(waiting)
                part, fault = ray.get(done)
                if fault:
                    raise CordialError(fault)
                texts += part
                show(texts / total, "calibrating")
            # Unfinished files of workers that died.
            for path in folder.glob(".*"):
                path.unlink()
    except ray.exceptions.RayError as error:
        raise CordialError(f"Ray gave up: {str(error).strip().splitlines()[-1]}") from error
    finally:
        if started:
            ray.shutdown()


def predict_part(given: tuple[Any, ...], part: int) -> tuple[int, str]:
    """Predict one part, in a Ray worker.

    Args:
        given: The calibrator's and the channels' files, the readings, the folder to write to and
            the rows of a part.
        part: The number of the part.

    Returns:
        How many texts are in it, and what went wrong; Ray would print an exception's traceback.
    """
    files, table, folder, size = given
    path = folder / f"part-{part:05d}.parquet"
    rows = replace(table.columns, frame=table.columns.frame.slice(part * size, size))
    try:
        texts = predict_table(_load(*files), replace(table, columns=rows), path, jobs=1)
    except CordialError as error:
        return 0, str(error)
    if not texts:
        path.unlink()
    return texts, ""


@lru_cache(maxsize=1)
def _load(path: Path, channels: tuple[Path, ...]) -> Stack:
    """The calibrator, which a worker loads once."""
    return load(path, channels=channels)  # pyright: ignore[reportReturnType]
