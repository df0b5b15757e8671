"""Plan of a sweep: where each outcome is kept, and refusals before any fit.

The file of an outcome is named after all that it is made from, so that a later run finds what it
would make, and never takes what another configuration has made.
"""

import hashlib
import json
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from cordial_ppl.errors import naming
from cordial_ppl.evaluation.sweep.config import SweepConfig
from cordial_ppl.evaluation.sweep.methods import External, Method
from cordial_ppl.evaluation.sweep.results import CELLS, ENDING
from cordial_ppl.evaluation.sweep.tasks import Reading
from cordial_ppl.inference.priors.learned import FILE


class Job(NamedTuple):
    """One outcome to make.

    Attributes:
        reading: the task and reader.
        n: number of labels.
        method: what is fitted, or looked up.
        path: where the outcome is kept.
    """

    reading: Reading
    n: int
    method: Method | External
    path: Path


def plan(config: SweepConfig, readings: Sequence[Reading], folder: Path) -> list[Job]:
    """List the outcomes of a sweep: readings, numbers of labels and methods.

    Args:
        config: the sweep.
        readings: its tasks and readers.
        folder: where the results go.
    """
    package, fits = version("cordial-ppl"), (config.draws, config.seed)
    contents = [(method, digest_method(method)) for method in config.methods]
    jobs = []
    for reading in readings:
        data = _digest_data(reading)
        for n in config.budgets:
            for method, content in contents:
                name = _digest(json.dumps([package, data, *fits, n, content]).encode())
                jobs.append(Job(reading, n, method, folder / CELLS / f"{name}{ENDING}"))
    return jobs


def by_cell(jobs: Sequence[Job]) -> list[list[Job]]:
    """Group jobs that follow each other by their reading and number of labels."""
    return [list(cell) for _, cell in groupby(jobs, lambda job: (id(job.reading), job.n))]


def check_methods(config: SweepConfig, readings: Sequence[Reading]) -> None:
    """Refuse a method whose channels need what a task does not have.

    Raises:
        InputError: a channel uses a covariate that the task's texts lack.
        ChannelError: a channel breaks the contract.
    """
    for method in config.methods:
        estimator = method.build(0) if isinstance(method, Method) else None
        if estimator is not None:
            for reading in readings:
                with naming(f"method.{method.name}, task {reading.task!r}"):
                    estimator.settings.check(*reading.pool)


def describe(config: SweepConfig, jobs: Sequence[Job]) -> dict[str, Any]:
    """Return the configuration in plain data, with cells and versions."""
    cells = [
        {
            "task": reading.task,
            "reader": reading.reader,
            "n": n,
            "options": list(reading.scale.options),
            "pool": len(reading.pool_labels),
            "report": len(reading.report_labels),
            "files": [job.path.stem for job in cell],
        }
        for cell in by_cell(jobs)
        for reading, n, *_ in cell[:1]
    ]
    return msgspec.to_builtins(config, enc_hook=str) | {
        "cells": cells,
        "versions": {name: version(name) for name in ("cordial-ppl", "jax", "numpyro", "numpy")},
    }


def digest_method(method: Method | External) -> Any:
    """Return all that results depend on: contents of files, wherever these lie."""

    def contents(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: contents(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [contents(part) for part in value]
        if isinstance(value, str) and Path(value).is_file():
            return [Path(value).name, _digest(Path(value).read_bytes())]
        return value

    prior = _digest((files("cordial_ppl.inference.priors") / FILE).read_bytes())
    return [contents(msgspec.to_builtins(method, enc_hook=str)), prior]


def _digest_data(reading: Reading) -> str:
    arrays = [reading.pool_labels, reading.report_labels]
    for texts in (reading.pool, reading.report):
        arrays += [texts.logits, *texts.covariates.values()]
    names = reading.task, reading.reader, reading.scale.options, tuple(reading.pool.covariates)
    text = json.dumps([*names, reading.pool_ids, reading.report_ids])
    return _digest(text.encode(), *map(np.ascontiguousarray, arrays))


def _digest(*parts: Any) -> str:
    return hashlib.sha256(b"".join(map(bytes, parts))).hexdigest()[:32]
