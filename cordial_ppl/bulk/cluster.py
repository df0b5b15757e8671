"""A large table on Ray: parts of it are predicted by workers wherever there is a core.

A part is a range of rows that its worker reads, predicts and writes to a file of its own; Ray moves
only the number of the part. When a worker dies, another repeats its part under the same name:
nothing is lost or written twice. (`ray.data.read_parquet` would not keep the order of the rows, nor
read files whose types differ a little.)
"""

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import jax

from cordial_ppl.bulk.local import Survey, predict_table
from cordial_ppl.errors import CordialError, InputError
from cordial_ppl.saved import load
from cordial_ppl.tables import making_folder
from cordial_ppl.tables.files import read_columns

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
        calibrator: The calibrator's file.
        channels: The channel files that it was fitted with.
        found: The readings.
        folder: Where the parts are written.
        size: Rows of a part.
        compiled: JAX's settings of where compiled programs are kept.
    """

    def __init__(
        self,
        calibrator: Path,
        channels: Sequence[Path],
        found: Survey,
        folder: Path,
        size: int,
        compiled: dict[str, Any],
    ):
        """Load the calibrator."""
        for name, value in compiled.items():
            jax.config.update(name, value)
        self.calibrator = load(calibrator, channels=channels)
        self.found, self.folder, self.size = found, folder, size

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Predict the part whose number is given; return how many texts are in it."""
        part = int(row["part"])
        path = self.folder / f"part-{part:05d}.parquet"
        columns = self.found.columns
        rows = columns.frame.slice(part * self.size, self.size)
        found = replace(self.found, columns=replace(columns, frame=rows))
        try:
            texts = predict_table(self.calibrator, found, path, jobs=1)
        except CordialError as error:
            # Ray would print a traceback around the message.
            return {"texts": 0, "fault": str(error)}
        if not texts:
            path.unlink()
        return {"texts": texts, "fault": ""}


def predict_on_ray(
    calibrator: Path,
    found: Survey,
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
        calibrator: The calibrator's file.
        found: The readings, under absolute paths.
        output: The folder to make, with a file for each part in the order of the readings.
        show: Called with the share of the work that is done, and what it is.
        channels: The channel files that the calibrator was fitted with.
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
    parts = -(-found.columns.ends[-1][1] // size)
    most = workers or max(1, min(parts, int(ray.cluster_resources().get("CPU", 1))))
    try:
        with making_folder(output) as folder:
            settings: dict[str, Any] = {
                "calibrator": calibrator.absolute(),
                "channels": [channel.absolute() for channel in channels],
                "found": found,
                "folder": folder,
                "size": size,
                "compiled": {name: getattr(jax.config, name) for name in KEPT},
            }
            rows = [{"part": k} for k in range(parts)]
            done = ray.data.from_items(rows, override_num_blocks=parts).map(
                Worker,
                fn_constructor_kwargs=settings,
                compute=ray.data.ActorPoolStrategy(min_size=workers or 1, max_size=most),
            )
            texts = 0
            for row in done.iter_rows():
                if row["fault"]:
                    raise CordialError(row["fault"])
                texts += row["texts"]
                show(texts / found.texts, "calibrating")
            for path in folder.iterdir():
                # What a worker had begun when it died.
                if path.name.startswith("."):
                    path.unlink()
            if texts != found.texts or len(read_columns(folder)) != texts:
                raise CordialError(f"Ray returned {texts} of {found.texts} texts; begin again.")
    except ray.exceptions.RayError as error:
        raise CordialError(f"Ray gave up: {str(error).strip().splitlines()[-1]}") from error
    finally:
        if started:
            ray.shutdown()


def _import_ray() -> Any:
    """Import Ray, and let it log only what stops it."""
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        ray, data = import_module("ray"), import_module("ray.data")
    except ImportError as error:
        raise InputError("--engine ray needs Ray: pip install 'cordial-ppl[ray]'.") from error
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    data.DataContext.get_current().enable_progress_bars = False
    return ray
