"""Running a sweep: cell by cell, each kept as soon as it is done, so that a run can be resumed."""

import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from cordial_ppl.cordial.subsets import BatchFit, fit_subsets
from cordial_ppl.errors import CordialWarning, FileError
from cordial_ppl.sweep.cell import Cell, write_cell
from cordial_ppl.sweep.config import SweepConfig
from cordial_ppl.sweep.methods import Method
from cordial_ppl.sweep.plan import Job, check_methods, describe, plan
from cordial_ppl.sweep.results import CONFIG, EXTERNAL, SUBSETS, TABLE, Results
from cordial_ppl.sweep.scoring import (
    Prediction,
    read_externals,
    score_cell,
    score_externals,
    split_fits,
    with_saturated,
)
from cordial_ppl.sweep.tasks import draw_subsets, load_tasks, subset_columns
from cordial_ppl.tables import check_writable, replacing, write_table

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
    with replacing(folder / CONFIG) as temporary:
        content = json.dumps(describe(config, readings), ensure_ascii=False, indent=1)
        temporary.write_text(content, "utf-8")
    write_table(folder / SUBSETS, subset_columns(config, readings))
    scored = [job.cell or score_externals(config.draws, job, tables) for job in elsewhere]
    for job, cell in zip(elsewhere, scored, strict=True):
        if not job.cell:
            write_cell(job.path, cell)
    _warn_of_gaps(scored)
    jobs = [job for job in jobs if not job.cell]
    total, before = max(sum(job.n + OVERHEAD for job in jobs), 1), 0
    for job in jobs:
        label = f"{job.reading.task}, {job.reading.reader}, {job.n} labels"

        def advance(share: float, before=before, weight=job.n + OVERHEAD, label=label):
            on_progress(Progress((before + share * weight) / total, label))

        advance(0.0)
        write_cell(job.path, make_cell(config, job, advance))
        before += job.n + OVERHEAD
    on_progress(Progress(1.0, "done"))
    results = Results.load(folder)
    write_table(folder / TABLE, results.columns())
    return results


def make_cell(
    config: SweepConfig,
    job: Job,
    advance: Callable[[float], None] = lambda share: None,
) -> Cell:
    """Fit every method to every subset of n labels, and score it on the report texts."""
    reading, n, draws = job.reading, job.n, config.draws
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
    predictions: dict[str, Sequence[Prediction | Exception]] = {
        name: split_fits(reading, fits) if isinstance(fits, BatchFit) else [fits] * draws
        for name, fits in ((name, found[name]) for name in estimators)
    }
    return score_cell(job, predictions)


def _warn_of_gaps(cells: Sequence[Cell]) -> None:
    """Warn of tables without probabilities for some fits, before anything is fitted."""
    gaps: dict[str, list[str]] = {}
    for cell in cells:
        for method, draw, reason in cell.failures:
            place = f"{cell.task}, {cell.reader}, {cell.n} labels, draw {draw}"
            gaps.setdefault(method, []).append(f"{place}: {reason}")
    total = sum(cell.losses.shape[1] for cell in cells)
    for method, places in gaps.items():
        warnings.warn(
            f"external.{method} has no probabilities for {len(places)} of {total} fits; the first: "
            f"{places[0]}",
            CordialWarning,
            stacklevel=3,
        )


def _make_folders(folder: Path, jobs: Sequence[Job]) -> None:
    """Make the folders, and check before any fit that every file can be written."""
    for made in dict.fromkeys([folder, *(job.path.parent for job in jobs)]):
        try:
            made.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"cannot make {made}: {error.strerror or error}.") from error
    for path in (folder / CONFIG, folder / SUBSETS, folder / TABLE, *(job.path for job in jobs)):
        check_writable(path, endings=None)
