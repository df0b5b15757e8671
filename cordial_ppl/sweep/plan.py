"""Planning a sweep: its cells, what each is made from, and what is refused before the work."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from cordial_ppl.cordial.subsets import check_covariates
from cordial_ppl.errors import CordialError, InputError
from cordial_ppl.sweep.cell import read_cell
from cordial_ppl.sweep.config import SweepConfig
from cordial_ppl.sweep.methods import External, Method
from cordial_ppl.sweep.results import cell_path
from cordial_ppl.sweep.tasks import Reading


@dataclass(frozen=True)
class Job:
    """One cell to make.

    Attributes:
        reading: the task and reader.
        n: number of labels.
        path: where the cell is kept.
        fingerprint: what it is made from.
        done: whether an earlier run has made it.
    """

    reading: Reading
    n: int
    path: Path
    fingerprint: str
    done: bool


def plan(config: SweepConfig, readings: Sequence[Reading], folder: Path) -> list[Job]:
    """List the cells of a sweep, and find those that are there already."""
    jobs = []
    for reading in readings:
        data = _digest_data(reading)
        for n in config.budgets:
            made_from = [version("cordial-ppl"), data, _describe_methods(config)]
            digest = _digest(json.dumps([*made_from, config.draws, config.seed, n]).encode())
            path = cell_path(folder, reading.task, reading.reader, n)
            done = path.exists()
            if done and read_cell(path)[1] != digest:
                raise InputError(
                    f"{path} was made with other methods, draws, seed, data or another version: "
                    "choose another folder, or remove the old results."
                )
            jobs.append(Job(reading, n, path, digest, done))
    return jobs


def check_methods(config: SweepConfig, readings: Sequence[Reading]) -> None:
    """Refuse a method whose channels need what a task does not have.

    Raises:
        InputError: a channel uses a covariate that the task's texts lack.
        ChannelError: a channel breaks the contract.
    """
    for method in config.methods:
        if not isinstance(method, Method):
            continue
        for reading in readings:
            with naming(f"method.{method.name}, task {reading.task!r}"):
                check_covariates(method.build(0), reading.pool)


def describe(config: SweepConfig, jobs: Sequence[Job]) -> dict[str, Any]:
    """The configuration in plain data, with what it ran on."""
    import jax

    return {
        "tasks": [_plain(asdict(task)) for task in config.tasks],
        "methods": _describe_methods(config),
        "budgets": list(config.budgets),
        "draws": config.draws,
        "seed": config.seed,
        "cells": [
            {
                "task": job.reading.task,
                "reader": job.reading.reader,
                "n": job.n,
                "options": list(job.reading.scale.options),
                "pool": len(job.reading.pool_labels),
                "report": len(job.reading.report_labels),
            }
            for job in jobs
        ],
        "versions": {name: version(name) for name in ("cordial-ppl", "jax", "numpyro", "numpy")},
        "devices": [device.device_kind for device in jax.devices()],
    }


@contextmanager
def naming(key: str) -> Iterator[None]:
    """Put the key of the file before what is wrong with it."""
    try:
        yield
    except CordialError as error:
        raise type(error)(f"{key}: {error}") from error


def _describe_methods(config: SweepConfig) -> list[dict[str, Any]]:
    return [_describe_method(method) for method in config.methods]


def _describe_method(method: Method | External) -> dict[str, Any]:
    if isinstance(method, External):
        return {
            "name": method.name,
            "probabilities": str(method.path),
            "digest": _digest(method.path.read_bytes()),
        }
    files = [method.settings.get("channel", ""), *method.settings.get("channels", ())]
    digests = [_digest(Path(file).read_bytes()) for file in files if file.endswith(".py")]
    own = {"name": method.name, "base": method.base, "settings": _plain(dict(method.settings))}
    return own | ({"channel_files": digests} if digests else {})


def _digest_data(reading: Reading) -> str:
    arrays = [reading.pool.logits, reading.pool_labels, reading.report.logits]
    arrays += [reading.report_labels]
    arrays += [*reading.pool.covariates.values(), *reading.report.covariates.values()]
    names = [reading.scale.options, tuple(reading.pool.covariates)]
    names += [reading.pool_ids, reading.report_ids]
    parts = [json.dumps(names).encode()]
    return _digest(b"".join(parts + [np.ascontiguousarray(array).tobytes() for array in arrays]))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _plain(value: Any) -> Any:
    """What JSON can express: paths as text, tuples as lists."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return str(value) if isinstance(value, Path) else value
