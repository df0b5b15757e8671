"""Running a sweep: cell by cell, each kept as soon as it is done, so that a run can be resumed."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from cordial_ppl.cordial.subsets import BatchFit, fit_subsets
from cordial_ppl.errors import FileError
from cordial_ppl.sweep.cell import Cell, read_cell, write_cell
from cordial_ppl.sweep.config import SweepConfig
from cordial_ppl.sweep.external import read_externals, score_externals, warn_of_gaps
from cordial_ppl.sweep.methods import Method
from cordial_ppl.sweep.plan import Job, check_methods, describe, plan
from cordial_ppl.sweep.results import (
    CONFIG,
    EXTERNAL,
    SUBSETS,
    TABLE,
    Results,
    write_config,
    write_results,
)
from cordial_ppl.sweep.scoring import Prediction, score_cell, split_fits, with_saturated
from cordial_ppl.sweep.tasks import draw_subsets, load_tasks, subset_columns
from cordial_ppl.tables import check_writable, write_table

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
    tables = read_externals(config, readings)
    check_methods(config, readings)
    jobs = plan(config, readings, folder)
    elsewhere = plan(config, readings, folder, EXTERNAL)
    _make_folders(folder, [*jobs, *elsewhere])
    description = describe(config, readings)
    write_config(folder, description)
    write_table(folder / SUBSETS, subset_columns(config, readings))
    scored = []
    for job in elsewhere:
        if job.done:
            scored.append(read_cell(job.path)[0])
            continue
        scored.append(score_externals(config.draws, job, tables))
        write_cell(job.path, scored[-1], job.fingerprint)
    warn_of_gaps(scored)
    weights = [0.0 if job.done else float(job.n + OVERHEAD) for job in jobs]
    total, before = max(sum(weights), 1.0), 0.0
    for job, weight in zip(jobs, weights, strict=True):
        if job.done:
            continue
        label, start = f"{job.reading.task}, {job.reading.reader}, {job.n} labels", before

        def advance(share: float, start: float = start, weight: float = weight, label=label):
            on_progress(Progress((start + share * weight) / total, label))

        advance(0.0)
        write_cell(job.path, make_cell(config, job, advance), job.fingerprint)
        before += weight
    on_progress(Progress(1.0, "done"))
    results = Results.load(folder)
    write_results(folder, results)
    return results


def make_cell(
    config: SweepConfig,
    job: Job,
    advance: Callable[[float], None] = lambda share: None,
) -> Cell:
    """Fit every method to every subset of n labels, and score it on the report texts."""
    reading, n, start = job.reading, job.n, time.perf_counter()
    draws = config.draws
    estimators = {m.name: m.build(0) for m in config.methods if isinstance(m, Method)}
    members = {part.key for estimator in estimators.values() for part in estimator.parts(n)}
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
        if isinstance(own, BatchFit):
            predictions[method.name] = list(split_fits(reading, own))
        elif own is not None:
            predictions[method.name] = [own] * draws
    return score_cell(reading, n, predictions, time.perf_counter() - start)


def _make_folders(folder: Path, jobs: Sequence[Job]) -> None:
    """Make the folders, and check before any fit that every file can be written."""
    for own in dict.fromkeys([folder, *(job.path.parent for job in jobs)]):
        try:
            own.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"cannot make {own}: {error.strerror or error}.") from error
    for path in (folder / CONFIG, folder / SUBSETS, folder / TABLE, *(job.path for job in jobs)):
        check_writable(path, endings=None)
