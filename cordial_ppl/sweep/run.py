"""Running a sweep: cell by cell, each kept as soon as it is done, so that a run can be resumed."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cordial_ppl.cordial.subsets import BatchFit, fit_subsets, parts
from cordial_ppl.errors import FileError, InputError
from cordial_ppl.formats import Predictions, check_writable, write_table
from cordial_ppl.sweep.cell import Cell, read_cell, write_cell
from cordial_ppl.sweep.config import SweepConfig
from cordial_ppl.sweep.methods import External, Method
from cordial_ppl.sweep.plan import Job, check_methods, describe, naming, plan
from cordial_ppl.sweep.results import CONFIG, SUBSETS, Results, write_config, write_results
from cordial_ppl.sweep.scoring import Prediction, score_cell, split_fits, with_saturated
from cordial_ppl.sweep.tasks import Reading, draw_subsets, load_tasks, subset_columns

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
            with naming(f"external.{method.name}"):
                external[method.name] = Predictions(method.path)
    for name, table in external.items():
        for reading in readings:
            with naming(f"external.{name}"):
                table.check(reading.scale)
    check_methods(config, readings)
    _make_folder(folder)
    jobs = plan(config, readings, folder)
    description = describe(config, jobs)
    write_config(folder, description)
    write_table(folder / SUBSETS, subset_columns(config, readings))
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


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make {folder}: {error.strerror or error}.") from error
    check_writable(folder / CONFIG, endings=None)
