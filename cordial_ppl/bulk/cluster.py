"""A large table on Ray: parts of it are predicted by workers wherever there is a core.

A part is a range of rows that its worker reads, predicts and writes to a file of its own; Ray moves
no more than the number of the part. A worker that dies is started again, and what it was at is done
again under the same name: nothing is lost or there twice. (`ray.data.read_parquet` would not keep
the order of the rows, nor read files whose types differ a little.)
"""

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import jax
import pyarrow as pa

from cordial_ppl.bulk.local import predict_table
from cordial_ppl.errors import CordialError, InputError
from cordial_ppl.saved import load
from cordial_ppl.tables import making_folder
from cordial_ppl.tables.blocks import BlockTable, open_blocks
from cordial_ppl.tables.survey import Survey

PART = 1 << 17
"""Rows of a part, and of a file that is written: five seconds of a core."""

KEPT = (
    "jax_compilation_cache_dir",
    "jax_persistent_cache_min_compile_time_secs",
    "jax_persistent_cache_min_entry_size_bytes",
)
"""JAX's settings of where compiled programs are kept, which workers take over."""


class Worker:
    """Predicts parts of a table; one for each process of Ray's.

    Args:
        judge: The judge's file.
        channels: The channel files that it was fitted with.
        table: The readings.
        survey: What they are.
        folder: Where the parts are written.
        size: Rows of a part.
        compiled: JAX's settings of where compiled programs are kept.
    """

    def __init__(
        self,
        judge: Path,
        channels: Sequence[Path],
        table: BlockTable,
        survey: Survey,
        folder: Path,
        size: int,
        compiled: dict[str, Any],
    ):
        """Load the judge."""
        for name, value in compiled.items():
            jax.config.update(name, value)
        self.judge = load(judge, channels=channels)
        self.table, self.survey, self.folder, self.size = table, survey, folder, size

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Predict the parts whose numbers are given; return how many texts are in them."""
        try:
            texts, fault = [self._predict(part) for part in batch["part"].to_pylist()], None
        except CordialError as error:
            # Ray would put a page of its own around what is said.
            texts, fault = [0], str(error)
        faults = pa.array([fault] * len(texts), pa.string())
        return pa.table({"texts": pa.array(texts, pa.int64()), "fault": faults})

    def _predict(self, part: int) -> int:
        rows = range(part * self.size, min((part + 1) * self.size, len(self.table)))
        path = self.folder / f"part-{part:05d}.parquet"
        texts = predict_table(self.judge, self.table, self.survey, path, rows=rows, jobs=1)
        if not texts:
            path.unlink()
        return texts


def predict_on_ray(
    judge: Path,
    table: BlockTable,
    survey: Survey,
    output: Path,
    show: Callable[[float, str], None],
    *,
    channels: Sequence[Path] = (),
    workers: int | None = None,
    size: int = PART,
) -> None:
    """Predict a table on the Ray cluster there is, or on one that is started on this machine.

    All machines must see the files under the same paths.

    Args:
        judge: The judge's file.
        table: The readings.
        survey: What they are.
        output: The folder to make, with a file for each part in the order of the readings.
        show: Told how much of the work is done, from 0 to 1, and what it is.
        channels: The channel files that the judge was fitted with.
        workers: How many workers there are; by default up to one for each core.
        size: Rows of a part.

    Raises:
        InputError: Ray is not installed.
        FileError: A file cannot be read, or the folder cannot be made; nothing is left behind.
        CordialError: Ray could not finish the work.
    """
    ray = _import_ray()
    started = not ray.is_initialized()
    if started:
        ray.init(log_to_driver=False, logging_level=logging.ERROR)
    try:
        with making_folder(output) as folder:
            _run(ray, judge, table, survey, folder, show, channels, workers, size)
            for path in folder.iterdir():
                # What a worker had begun when it died.
                if path.name.startswith("."):
                    path.unlink()
            found = len(open_blocks(folder))
            if found != survey.texts:
                raise CordialError(f"Ray returned {found} of {survey.texts} texts; begin again.")
    except ray.exceptions.RayError as error:
        raise CordialError(f"Ray gave up: {str(error).strip().splitlines()[-1]}") from error
    finally:
        if started:
            ray.shutdown()


def _import_ray() -> Any:
    """Ray, which says nothing as long as it can go on."""
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        ray, data = import_module("ray"), import_module("ray.data")
    except ImportError as error:
        raise InputError("--engine ray needs Ray: pip install 'cordial-ppl[ray]'.") from error
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    data.DataContext.get_current().enable_progress_bars = False
    return ray


def _run(
    ray: Any,
    judge: Path,
    table: BlockTable,
    survey: Survey,
    folder: Path,
    show: Callable[[float, str], None],
    channels: Sequence[Path],
    workers: int | None,
    size: int,
) -> None:
    parts = -(-len(table) // size)
    most = workers or max(1, min(parts, int(ray.cluster_resources().get("CPU", 1))))
    settings: dict[str, Any] = {
        "judge": judge.absolute(),
        "channels": [channel.absolute() for channel in channels],
        "table": replace(table, files=tuple(file.absolute() for file in table.files)),
        "survey": survey,
        "folder": folder,
        "size": size,
        "compiled": {name: getattr(jax.config, name) for name in KEPT},
    }
    work = ray.data.from_items([{"part": k} for k in range(parts)], override_num_blocks=parts)
    done = work.map_batches(
        Worker,
        fn_constructor_kwargs=settings,
        batch_size=1,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(min_size=workers or 1, max_size=most),
    )
    texts = 0
    for row in done.iter_rows():
        if row["fault"]:
            raise CordialError(row["fault"])
        texts += row["texts"]
        show(texts / survey.texts, "calibrating")
