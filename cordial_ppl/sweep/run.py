"""Running a sweep: cell by cell, each kept as soon as it is done, so that a run can be resumed."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cordial_ppl.cordial.subsets import BatchFit, fit_subsets, parts
from cordial_ppl.errors import FileError, InputError
from cordial_ppl.formats import Predictions, check_writable
from cordial_ppl.sweep.cell import Cell, read_cell, write_cell
from cordial_ppl.sweep.config import SweepConfig
from cordial_ppl.sweep.methods import External, Method
from cordial_ppl.sweep.results import CONFIG, Results, cell_path, write_config, write_results
from cordial_ppl.sweep.scoring import Prediction, score_cell, split_fits, with_saturated
from cordial_ppl.sweep.tasks import Reading, draw_subsets, load_tasks

OVERHEAD = 100
"""Labels that compiling and predicting take as long as, for the estimate of the time left."""


class Progress(NamedTuple):
    """How far a sweep is.

    Attributes:
        done: share of the work, 0 to 1.
        label: what is being worked on.
    """

    done: float
    label: str


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


def run_sweep(
    config: SweepConfig,
    folder: str | Path,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Results:
    """Run a sweep, or what an earlier run has left of it.

    Args:
        config: the sweep.
        folder: where the results go; made if it is not there.
        on_progress: is called whenever a member has been fitted.

    Returns:
        The results.

    Raises:
        FileError: the folder cannot be written to, or a file cannot be read.
        InputError: the configuration does not fit the data, or the folder holds cells of another
            configuration.  Both are found before anything is fitted.
    """
    folder = Path(folder)
    readings = load_tasks(config)
    external = {}
    for method in config.methods:
        if isinstance(method, External):
            with _naming(f"external.{method.name}"):
                external[method.name] = Predictions(method.path)
    for name, table in external.items():
        for reading in readings:
            with _naming(f"external.{name}"):
                table.check(reading.scale)
    _make_folder(folder)
    jobs = plan(config, readings, folder)
    description = describe(config, jobs)
    write_config(folder, description)
    weights = [0.0 if job.done else float(job.n + OVERHEAD) for job in jobs]
    total, before = max(sum(weights), 1.0), 0.0
    cells = {}
    for job, weight in zip(jobs, weights, strict=True):
        key = job.reading.task, job.reading.reader, job.n
        label = f"{key[0]}, {key[1]}, {job.n} labels"
        if job.done:
            cells[key], _ = read_cell(job.path)
            continue
        start = before

        def advance(share: float, start: float = start, weight: float = weight, label=label):
            on_progress(Progress((start + share * weight) / total, label))

        advance(0.0)
        cells[key] = make_cell(config, job, external, advance)
        job.path.parent.mkdir(parents=True, exist_ok=True)
        write_cell(job.path, cells[key], job.fingerprint)
        before += weight
    on_progress(Progress(1.0, "done"))
    results = Results(description, cells)
    write_results(folder, results)
    return results


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


def make_cell(
    config: SweepConfig,
    job: Job,
    external: Mapping[str, Predictions],
    advance: Callable[[float], None] = lambda share: None,
) -> Cell:
    """Fit every method to every subset of n labels, and score it on the report texts."""
    reading, n, start = job.reading, job.n, time.perf_counter()
    draws = config.draws
    estimators = {m.name: m.build(0) for m in config.methods if isinstance(m, Method)}
    members = {part.key for estimator in estimators.values() for part in parts(estimator)}
    fitted = iter(range(1, len(members) + 1))
    found: dict[str, BatchFit | Exception] = dict(
        fit_subsets(
            estimators,
            reading.pool,
            reading.pool_labels,
            draw_subsets(reading, n, draws, config.seed),
            [config.seed + draw for draw in range(draws)],
            with_saturated(reading),
            on_done=lambda: advance(next(fitted) / (len(members) + 1)),
        )
    )
    predictions: dict[str, list[Prediction | Exception]] = {}
    for method in config.methods:
        own = found.get(method.name)
        if isinstance(method, External):
            predictions[method.name] = _look_up(external[method.name], reading, n, draws)
        elif isinstance(own, BatchFit):
            predictions[method.name] = list(split_fits(reading, own))
        else:
            assert own is not None
            predictions[method.name] = [own] * draws
    return score_cell(reading, n, predictions, time.perf_counter() - start)


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


def _look_up(
    table: Predictions, reading: Reading, n: int, draws: int
) -> list[Prediction | Exception]:
    size = reading.scale.size
    unknown = np.full((size, size), np.nan)
    found: list[Prediction | Exception] = []
    for draw in range(draws):
        fit = {"task": reading.task, "reader": reading.reader, "n": n, "draw": draw}
        try:
            found.append(Prediction(table.probs(reading.report_ids, reading.scale, **fit), unknown))
        except InputError as error:
            found.append(error)
    return found


def _digest_data(reading: Reading) -> str:
    arrays = [reading.pool.logits, reading.pool_labels, reading.report.logits]
    arrays += [reading.report_labels, *reading.pool.covariates.values()]
    return _digest(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _plain(value: Any) -> Any:
    """What JSON can express: paths as text, tuples as lists."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return str(value) if isinstance(value, Path) else value


@contextmanager
def _naming(key: str) -> Iterator[None]:
    """Put the key of the file before what is wrong with it."""
    try:
        yield
    except InputError as error:
        raise type(error)(f"{key}: {error}") from error


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make {folder}: {error.strerror or error}.") from error
    check_writable(folder / CONFIG, endings=None)
