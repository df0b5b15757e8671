"""Planning a sweep: its cells, what each depends on, and what is refused before any fit."""

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from cordial_ppl.cordial.stack import Stack
from cordial_ppl.errors import FileError, InputError, naming
from cordial_ppl.priors.shipped import FILE
from cordial_ppl.priors.sources import OWN
from cordial_ppl.sweep.cell import Cell, read_cell
from cordial_ppl.sweep.config import SweepConfig
from cordial_ppl.sweep.methods import External, Method
from cordial_ppl.sweep.results import EXTERNAL, FITTED, cell_path
from cordial_ppl.sweep.tasks import Reading


class Job(NamedTuple):
    """One cell to make.

    Attributes:
        reading: the task and reader.
        n: number of labels.
        path: where it is kept.
        fingerprint: what it is made from.
        cell: what an earlier run has made; None if it is still to be made.
    """

    reading: Reading
    n: int
    path: Path
    fingerprint: str
    cell: Cell | None


def plan(
    config: SweepConfig, readings: Sequence[Reading], folder: Path, part: str = FITTED
) -> list[Job]:
    """List the cells of a sweep, and find those that are there already.

    Args:
        config: the sweep.
        readings: its tasks and readers.
        folder: where the results go.
        part: the fitted methods, whose cells must be of this configuration if they are there, or
            the external ones, which are scored again.

    Raises:
        FileError: a cell is damaged.
        InputError: a cell is of another configuration.
    """
    kind = External if part == EXTERNAL else Method
    methods = [_digest_method(method) for method in config.methods if isinstance(method, kind)]
    jobs = []
    for reading in readings if methods else ():
        made_from = [version("cordial-ppl"), _digest_data(reading), methods]
        for n in config.budgets:
            digest = _digest(json.dumps([*made_from, config.draws, config.seed, n]).encode())
            path = cell_path(folder, reading.task, reading.reader, n, part)
            try:
                cell = read_cell(path) if path.exists() else None
            except FileError as error:
                raise FileError(
                    f"the results in {path} cannot be read: remove the file to have them made "
                    "again."
                ) from error
            if cell and cell.fingerprint != digest:
                if part == FITTED:
                    raise InputError(
                        f"{path} was made with other methods, draws, seed, data or another "
                        "version: choose another folder, or remove the old results."
                    )
                cell = None
            jobs.append(Job(reading, n, path, digest, cell))
    return jobs


def check_methods(config: SweepConfig, readings: Sequence[Reading]) -> None:
    """Refuse a method whose channels need what a task does not have.

    Raises:
        InputError: a channel uses a covariate that the task's texts lack.
        ChannelError: a channel breaks the contract.
    """
    for method in config.methods:
        estimator = method.build(0) if isinstance(method, Method) else None
        if isinstance(estimator, Stack):
            for reading in readings:
                with naming(f"method.{method.name}, task {reading.task!r}"):
                    estimator.check(*reading.pool)


def describe(config: SweepConfig, readings: Sequence[Reading]) -> dict[str, Any]:
    """The configuration in plain data, with what it ran on."""
    import jax

    cells = [
        {
            "task": reading.task,
            "reader": reading.reader,
            "n": n,
            "options": list(reading.scale.options),
            "pool": len(reading.pool_labels),
            "report": len(reading.report_labels),
        }
        for reading in readings
        for n in config.budgets
    ]
    return _plain(config) | {
        "tasks": [_plain(msgspec.structs.asdict(task)) for task in config.tasks],
        "cells": cells,
        "versions": {name: version(name) for name in ("cordial-ppl", "jax", "numpyro", "numpy")},
        "devices": [device.device_kind for device in jax.devices()],
    }


def _digest_method(method: Method | External) -> dict[str, Any]:
    """What results depend on: contents of files, wherever these lie."""
    if isinstance(method, External):
        return {"name": method.name, "digest": _digest(method.path.read_bytes())}

    def contents(value: Any, file: bool = False) -> Any:
        if isinstance(value, str) and (file or value.endswith(".py")):
            return [Path(value).name, _digest(Path(value).read_bytes())]
        return [contents(part) for part in value] if isinstance(value, list) else value

    plain = _plain(method.settings)
    settings = {
        key: contents(value, key == "prior" and value != OWN) for key, value in plain.items()
    }
    if method.base == "cordial" and plain.get("prior") is None:
        settings["prior"] = _digest_shipped()
    return {"name": method.name, "base": method.base, "settings": settings}


@lru_cache(maxsize=1)
def _digest_shipped() -> str:
    """What the default's prior follows from."""
    return _digest((files("cordial_ppl.priors") / FILE).read_bytes())


def _digest_data(reading: Reading) -> str:
    arrays = [reading.pool_labels, reading.report_labels]
    for texts in (reading.pool, reading.report):
        arrays += [texts.logits, *texts.covariates.values()]
    names = [reading.scale.options, tuple(reading.pool.covariates)]
    text = json.dumps([*names, reading.pool_ids, reading.report_ids])
    return _digest(text.encode(), *map(np.ascontiguousarray, arrays))


def _digest(*parts: Any) -> str:
    return hashlib.sha256(b"".join(map(bytes, parts))).hexdigest()


def _plain(value: Any) -> Any:
    """What JSON can express: paths as text, tuples as lists."""
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=str))
