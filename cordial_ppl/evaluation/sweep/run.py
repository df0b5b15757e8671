"""Run of a sweep: fits by task, reader and number of labels; a run that stopped can be resumed."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from cordial_ppl.errors import FileError, as_path, warn
from cordial_ppl.estimators.subsets import BatchFit, fit_subsets, list_members
from cordial_ppl.evaluation.sweep.config import SweepConfig
from cordial_ppl.evaluation.sweep.methods import Method
from cordial_ppl.evaluation.sweep.plan import Job, by_cell, check_methods, describe, plan
from cordial_ppl.evaluation.sweep.results import (
    CELLS,
    CONFIG,
    SUBSETS,
    TABLE,
    Outcome,
    Results,
    write_outcome,
)
from cordial_ppl.evaluation.sweep.scoring import (
    Prediction,
    read_externals,
    score,
    score_table,
    with_saturated,
)
from cordial_ppl.evaluation.sweep.tasks import draw_subsets, load_tasks, subset_columns
from cordial_ppl.runtime.cluster import run_on_ray
from cordial_ppl.runtime.progress import doing
from cordial_ppl.tables import Predictions, check_writable, replacing, write_table

OVERHEAD = 100
"""Labels that compiling and predicting take as long as, for the estimate of the time left."""


def run_sweep(
    config: SweepConfig, folder: str | Path, *, ray: bool = False, device: str = "auto"
) -> Results:
    """Run a sweep, or what an earlier run has left of it.

    Args:
        config: the sweep.
        folder: where the results go; made if it is not there.
        ray: whether cells are made on Ray, see `cordial_ppl.runtime.cluster`; all machines must see
            channel files and priors under the same paths.
        device: where channels are fitted, as of `cordial_ppl.estimators.subsets.fit_subsets`.

    Returns:
        The results, the same on one machine and on Ray; those of an accelerator differ from a
        host's as those of another seed do.

    Raises:
        FileError: the folder cannot be written to, or a file cannot be read.
        InputError: the configuration does not fit the data, before anything is fitted.
        CordialError: Ray could not finish the work; what is done is kept.
    """
    folder = as_path(folder, "write")
    readings = load_tasks(config)
    tables = read_externals(config, readings)
    check_methods(config, readings)
    jobs = plan(config, readings, folder)
    try:
        (folder / CELLS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make {folder}: {error.strerror or error}.") from error
    for path in (folder / CONFIG, folder / SUBSETS, folder / TABLE, *(job.path for job in jobs)):
        check_writable(path, endings=None)
    with replacing(folder / CONFIG) as temporary:
        content = json.dumps(describe(config, jobs), ensure_ascii=False, indent=1)
        temporary.write_text(content, "utf-8")
    write_table(folder / SUBSETS, subset_columns(config, readings))
    _score_tables(tables, jobs, config.draws)
    _fit(config, by_cell([job for job in jobs if not job.path.exists()]), ray, device)
    results = Results.load(folder)
    write_table(folder / TABLE, results.columns())
    return results


def _fit(config: SweepConfig, cells: Sequence[Sequence[Job]], ray: bool, device: str) -> None:
    """Make cells, one after the other or on Ray, and write their outcomes."""
    costs, before = [cell[0].n + OVERHEAD for cell in cells], 0
    with doing("fitting", sum(costs)) as stage:

        def advance(index: int, share: float) -> None:
            reading, n = cells[index][0].reading, cells[index][0].n
            label = f"fitting {reading.task}, {reading.reader}, {n} labels"
            stage.reach(before + share * costs[index], label)

        work = config, cells, device
        for index, outcomes in _on_ray(*work) if ray else _in_turn(*work, advance):
            for job, outcome in zip(cells[index], outcomes, strict=True):
                write_outcome(job.path, outcome)
            advance(index, 1.0)
            before += costs[index]


def _in_turn(
    config: SweepConfig,
    cells: Sequence[Sequence[Job]],
    device: str,
    advance: Callable[[int, float], None],
) -> Iterator[tuple[int, list[Outcome]]]:
    """Make cells one after the other, each on all cores."""
    for index, cell in enumerate(cells):
        advance(index, 0.0)
        yield index, make_cell(config, cell, partial(advance, index), device)


def _on_ray(
    config: SweepConfig, cells: Sequence[Sequence[Job]], device: str
) -> Iterator[tuple[int, list[Outcome]]]:
    """Make cells side by side, the largest first."""
    order = sorted(range(len(cells)), key=lambda index: -cells[index][0].n)
    return run_on_ray(_make_on_worker, (config, cells, device), order)


def _make_on_worker(
    work: tuple[SweepConfig, Sequence[Sequence[Job]], str], index: int
) -> list[Outcome]:
    config, cells, device = work
    return make_cell(config, cells[index], device=device)


def make_cell(
    config: SweepConfig,
    jobs: Sequence[Job],
    advance: Callable[[float], None] = lambda share: None,
    device: str = "auto",
) -> list[Outcome]:
    """Fit methods to every subset of n labels of one reading, and score them on its report texts.

    Args:
        config: the sweep.
        jobs: the methods, all of the same reading and number of labels.
        advance: is called with the share of this work that is done.
        device: where channels are fitted, as of `cordial_ppl.estimators.subsets.fit_subsets`.
    """
    reading, n, draws = jobs[0].reading, jobs[0].n, config.draws
    estimators = {m.name: m.build(0) for job in jobs if isinstance(m := job.method, Method)}
    members = {part.key for estimator in estimators.values() for part in list_members(estimator, n)}
    batch = fit_subsets(
        estimators,
        reading.pool,
        reading.pool_labels,
        draw_subsets(reading, n, draws, config.seed),
        [config.seed + draw for draw in range(draws)],
        with_saturated(reading),
        on_done=lambda number: advance(number / (len(members) + 1)),
        device=device,
    )
    outcomes = []
    for fits in (batch[job.method.name] for job in jobs):
        if isinstance(fits, BatchFit):
            diagnostics = zip(*fits.diagnostics, strict=True) if fits.diagnostics else [()] * draws
            predictions = [*map(Prediction, fits.probs, diagnostics)]
        else:
            predictions = [fits] * draws
        outcomes.append(score(reading, predictions))
    return outcomes


def _score_tables(tables: Mapping[str, Predictions], jobs: Sequence[Job], draws: int) -> None:
    """Score probabilities made elsewhere, and warn of those that lack some fits."""
    for name, table in tables.items():
        reasons = {}
        for job in [job for job in jobs if job.method.name == name]:
            outcome = score_table(table, job.reading, job.n, draws)
            write_outcome(job.path, outcome)
            for draw, reason in enumerate(outcome.reasons):
                fit = f"{job.reading.task}, {job.reading.reader}, {job.n} labels, draw {draw}"
                reasons[fit] = reason
        gaps = [f"{fit}: {reason}" for fit, reason in reasons.items() if reason]
        if gaps:
            warn(
                f"external.{name} has no probabilities for {len(gaps)} of {len(reasons)} fits; the "
                f"first: {gaps[0]}"
            )
