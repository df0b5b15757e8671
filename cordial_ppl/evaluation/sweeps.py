"""Sweeps: methods fitted to the same subsets of the labels, task by task, and scored.

The scores of each fit are a file of their own, which appears whole and is named after all that it
is made from: a run that is killed loses the fits in progress alone, and a later one finds what it
would make and never takes what others have made.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from uuid import uuid4

import msgspec
import numpy as np
import polars as pl

from cordial_ppl.channels import is_built_in
from cordial_ppl.data.checks import check_list, check_names, check_number
from cordial_ppl.errors import FileError, InputError, as_path, naming
from cordial_ppl.estimators.estimator import Estimator
from cordial_ppl.estimators.subsets import fit_subsets, is_accelerated
from cordial_ppl.evaluation.methods import NINE, make_methods
from cordial_ppl.evaluation.scoring import FIT, FURTHER, METRICS, score, with_saturated
from cordial_ppl.evaluation.tasks import Task, draw_subsets
from cordial_ppl.inference.priors import reading_spread, resolve
from cordial_ppl.runtime.cluster import run_on_ray
from cordial_ppl.runtime.outputs import check_writable
from cordial_ppl.runtime.progress import doing
from cordial_ppl.stack.members import ChannelMember
from cordial_ppl.tables import write_table

BUDGETS = 5, 10, 20, 50, 100


class Job(NamedTuple):
    """A fit of one method to one subset of n labels of a task, and where its scores are kept."""

    task: Task
    n: int
    method: str
    draw: int
    estimator: Estimator[Any]
    path: Path


Work = tuple[str, Sequence[Sequence[Job]]]
"""Device, and cells: jobs of a task and number of labels that are one call."""


def run_sweep(
    tasks: Iterable[Task],
    methods: Iterable[str] | Mapping[str, Estimator[Any]] = NINE,
    budgets: Iterable[int] = BUDGETS,
    draws: int = 20,
    *,
    parts: str | Path | None = None,
    engine: str = "local",
    device: str = "auto",
) -> pl.DataFrame:
    """Fit methods to the same random subsets of the labels, and score them on held-out texts.

    Args:
        tasks: from ``split_task`` or ``read_tasks``.
        methods: names of methods, channels or channel files, as of ``make_methods``; or unfitted
            estimators by name, whose seeds are not used.
        budgets: numbers of labels.
        draws: labelled subsets of each size.
        parts: folder that keeps the scores of each fit, from which an interrupted sweep goes on.
        engine: "local", or "ray", on a cluster (``cordial_ppl.runtime.cluster``): all machines must
            see channel files and priors under the same paths.
        device: where channels are fitted, as of ``fit_subsets``.

    Returns:
        A row a score: ``task``, ``reader``, ``method``, ``n``, ``draw``, ``metric``, ``value``; and
        one a failed fit, with metric "failed" and its ``reason``.  Scores are the same on one
        machine and on Ray; those of an accelerator differ from a host's as those of another seed.

    Raises:
        InputError: a setting cannot be used, or a method or a number of labels does not fit a task.
        FileError: the folder cannot be written to, or a file in it is damaged.
        CordialError: Ray could not finish the work; what is done is kept.
    """
    with TemporaryDirectory() as temporary:
        jobs = list_jobs(tasks, methods, budgets, draws, temporary if parts is None else parts)
        fit_jobs(jobs, engine, device)
        return _list_scores(job.path for job in jobs)


def fit_jobs(jobs: Sequence[Job], engine: str = "local", device: str = "auto") -> None:
    """Fit the jobs of a sweep whose file is not there, a cell at a time, or side by side on Ray."""
    check_names("engine", [engine], ("local", "ray"))
    check_names("device", [device], ("auto", "host", "accelerator"))
    folder = jobs[0].path.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot create {folder}: {error.strerror or error}.") from error
    check_writable(folder / "part.parquet")
    batched = device == "accelerator" or (engine == "local" and is_accelerated(device))
    cells = _group((job for job in jobs if not job.path.exists()), batched)
    work, order = (device, cells), range(len(cells))
    if engine == "ray":
        made = run_on_ray(_make_cell, work, order)
    else:
        made = ((index, _make_cell(work, index)) for index in order)
    with doing("fitting", len(cells), "parts") as stage:
        stage.reach(0)
        for finished, (index, tables) in enumerate(made, 1):
            for job, table in zip(cells[index], tables, strict=True):
                write_table(job.path, table.lazy())
            task, n, *_ = cells[index][0]
            stage.reach(finished, f"fitted {task.name}, {task.reader}, {n} labels")


def list_jobs(
    tasks: Iterable[Task],
    methods: Iterable[str] | Mapping[str, Estimator[Any]],
    budgets: Iterable[int],
    draws: int,
    folder: str | Path,
) -> list[Job]:
    """List the fits of a sweep, and refuse what does not fit together; see ``run_sweep``.

    Returns:
        A job for each fit: of each task, by number of labels, method and draw.  Its file in the
        folder is Parquet, a row with the columns of ``scoring.SCHEMA``.
    """
    made, draws = make_methods(methods), int(check_number("draws", draws, 1, whole=True))
    tasks, budgets = check_list("tasks", tasks), check_list("budgets", budgets)
    folder, jobs = as_path(folder, "write"), []
    if not (tasks and budgets):
        raise InputError("a sweep needs at least one task and one number of labels.")
    names = [(task.name, task.reader) for task in tasks]
    for task, name in zip(tasks, names, strict=True):
        size, scored = len(task.pool.labels), len(task.report.labels)
        if names.count(name) > 1:
            raise InputError(f"task {task.name!r} lists judge {task.reader!r} twice.")
        for n in budgets:
            if check_number("budgets", n, 1, whole=True) > size:
                raise InputError(
                    f"budget {n} is too large: task {task.name!r} has only {size} texts to draw "
                    f"labels from; the other {scored} are kept for scoring."
                )
        texts = [(each.logits, each.covariates, each.labels) for each in (task.pool, task.report)]
        data = _digest(task.name, task.reader, task.scale.options, task.seed, texts)
        contents: dict[str, list[Any]] = {}
        for method, estimator in made.items():
            with naming(f"method {method!r}, task {task.name!r}"):
                contents[method] = _describe(estimator, task)
        for n, method, draw in product(sorted({*budgets}), made, range(draws)):
            digest = _digest(version("cordial-ppl"), data, n, method, draw, *contents[method])
            path = folder / f"{digest[:32]}.parquet"
            jobs.append(Job(task, n, method, draw, made[method], path))
    return jobs


def _group(jobs: Iterable[Job], batched: bool) -> list[list[Job]]:
    """Group jobs into cells: all methods of a subset, and all subsets that lack the same methods.

    Methods share the fits of their members.  On an accelerator subsets are fitted side by side; on
    a host they gain nothing by it, and each is kept as it is done.
    """
    subsets: dict[tuple[Any, ...], list[Job]] = {}
    for job in jobs:
        subsets.setdefault((id(job.task), job.n, job.draw), []).append(job)
    cells: dict[tuple[Any, ...], list[Job]] = {}
    for (*task, draw), subset in subsets.items():
        alike = [job.method for job in subset] if batched else [draw]
        cells.setdefault((*task, *alike), []).extend(subset)
    return [*cells.values()]


def _describe(estimator: Estimator[Any], task: Task) -> list[Any]:
    """Return all that a method's fits to a task depend on, and check that its channels allow them.

    A file counts by its contents; a channel of neither the package nor a file by its identity.
    """
    settings, logits = estimator.settings, task.pool.logits
    settings.check(logits, task.pool.covariates)
    names = ("calibrators", "inference", "weight_counts", "fixed_counts")
    names += ("min_labels", "effort", "folded")
    content = [type(estimator).__name__, *(getattr(settings, name) for name in names)]
    for part in settings.members(0):
        if isinstance(part, ChannelMember):
            target = part.target(logits.shape[1], task.pool.covariates)
            prior = resolve(part.prior, target, reading_spread(logits)) or target.prior
            identity = part.channel.digest or is_built_in(part.channel) or uuid4().hex
            content += [part.name, identity, *map(np.asarray, prior)]
    return content


def _digest(*parts: Any) -> str:
    """Digest names, numbers and arrays."""
    encoded = msgspec.msgpack.encode(parts, enc_hook=np.ndarray.tobytes, order="sorted")
    return hashlib.sha256(encoded).hexdigest()


def _make_cell(work: Work, index: int) -> list[pl.DataFrame]:
    """Fit methods to subsets of n labels of one task, and score them on its report texts."""
    device, cells = work
    task, n, *_ = cells[index][0]
    draws = [*dict.fromkeys(job.draw for job in cells[index])]
    methods = {job.method: job.estimator for job in cells[index]}
    subsets, seeds = draw_subsets(task, n, max(draws) + 1)[draws], [task.seed + d for d in draws]
    fits = fit_subsets(methods, task.pool, subsets, seeds, with_saturated(task), device=device)
    scored = {method: score(task, method, n, draws, fit) for method, fit in fits.items()}
    return [scored[job.method].filter(draw=job.draw) for job in cells[index]]


def _list_scores(paths: Iterable[Path]) -> pl.DataFrame:
    """List the scores of all parts, one a row, and the fits that failed."""
    names, parts = [*METRICS, *FURTHER], []
    for path in paths:
        try:
            parts.append(pl.read_parquet(path, columns=[*FIT, *names, "reason"]))
        except (pl.exceptions.PolarsError, OSError) as error:
            raise FileError(f"{path} is damaged. Delete the file and rerun the sweep.") from error
    fits = pl.concat(parts).with_row_index("fit")
    failed = fits.drop_nulls("reason").select("fit", *FIT, "reason", metric=pl.lit("failed"))
    table = fits.unpivot(names, index=["fit", *FIT], variable_name="metric").drop_nulls("value")
    table = pl.concat([table, failed], how="diagonal").sort("fit", maintain_order=True)
    return table.select(*FIT, "metric", "value", "reason")
