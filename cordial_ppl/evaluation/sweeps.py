"""Sweeps: methods fitted to the same subsets of the labels, task by task, and scored.

Each method's scores of a task and a number of labels are a file of their own, named after all that
they are made from: a later run finds what it would make, and never takes what others have made.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from itertools import groupby, product
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
from cordial_ppl.estimators.subsets import fit_subsets
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
    """Fits of one method to all subsets of n labels of one task, and where scores are kept."""

    task: Task
    n: int
    method: str
    path: Path


Work = tuple[Mapping[str, Estimator[Any]], int, str, Sequence[Sequence[Job]]]
"""Methods by name, number of draws, device, and cells: all jobs of a task and number of labels."""


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
        parts: folder that keeps finished scores, from which an interrupted sweep goes on.
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
        sweep, folder = (tasks, methods, budgets, draws), temporary if parts is None else parts
        return _list_scores(make_parts(*sweep, folder=folder, engine=engine, device=device))


def make_parts(
    tasks: Iterable[Task],
    methods: Iterable[str] | Mapping[str, Estimator[Any]],
    budgets: Iterable[int],
    draws: int,
    *,
    folder: str | Path,
    engine: str = "local",
    device: str = "auto",
) -> list[Path]:
    """Make the parts of a sweep, or what an earlier run has left of them; see ``run_sweep``.

    Returns:
        A Parquet file for each task, number of labels and method, with the columns of
        ``scoring.SCHEMA`` and a row a draw: the loss of every text is there too.
    """
    check_names("engine", [engine], ("local", "ray"))
    check_names("device", [device], ("auto", "host", "accelerator"))
    made, draws = make_methods(methods), int(check_number("draws", draws, 1, whole=True))
    tasks, budgets = check_list("tasks", tasks), check_list("budgets", budgets)
    folder = as_path(folder, "write")
    jobs = _list_jobs(tasks, made, budgets, draws, folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make {folder}: {error.strerror or error}.") from error
    check_writable(folder / "part.parquet")
    missing = (job for job in jobs if not job.path.exists())
    cells = [[*cell] for _, cell in groupby(missing, lambda job: (id(job.task), job.n))]
    _fit((made, draws, device, cells), ray=engine == "ray")
    return [job.path for job in jobs]


def _list_jobs(
    tasks: Sequence[Task],
    methods: Mapping[str, Estimator[Any]],
    budgets: Iterable[int],
    draws: int,
    folder: Path,
) -> list[Job]:
    """List the fits of a sweep, and refuse what does not fit together."""
    jobs, names = [], [(task.name, task.reader) for task in tasks]
    for task, name in zip(tasks, names, strict=True):
        size, scored = len(task.pool.labels), len(task.report.labels)
        if names.count(name) > 1:
            raise InputError(f"task {task.name!r} read by {task.reader!r} is there twice.")
        for n in budgets:
            if check_number("budgets", n, 1, whole=True) > size:
                raise InputError(
                    f"a budget is {n}, but task {task.name!r} has only {size} texts to draw labels "
                    f"from, beside {scored} that are scored."
                )
        texts = [(each.logits, each.covariates, each.labels) for each in (task.pool, task.report)]
        data = _digest(task.name, task.reader, task.scale.options, task.seed, texts)
        contents: dict[str, list[Any]] = {}
        for method, estimator in methods.items():
            with naming(f"method {method!r}, task {task.name!r}"):
                contents[method] = _describe(estimator, task)
        for n, (method, content) in product(sorted({*budgets}), contents.items()):
            digest = _digest(version("cordial-ppl"), data, draws, n, method, *content)
            jobs.append(Job(task, n, method, folder / f"{digest[:32]}.parquet"))
    return jobs


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


def _fit(work: Work, *, ray: bool) -> None:
    """Make cells, in turn on all cores or side by side on Ray, and keep their scores."""
    *_, cells = work
    order = range(len(cells))
    if ray:  # The largest begin first.
        made = run_on_ray(_make_cell, work, sorted(order, key=lambda index: -cells[index][0].n))
    else:
        made = ((index, _make_cell(work, index)) for index in order)
    with doing("fitting", len(cells), "parts") as stage:
        stage.reach(0)
        for finished, (index, tables) in enumerate(made, 1):
            for job, table in zip(cells[index], tables, strict=True):
                write_table(job.path, table.lazy())
            task, n, *_ = cells[index][0]
            stage.reach(finished, f"fitted {task.name}, {task.reader}, {n} labels")


def _make_cell(work: Work, index: int) -> list[pl.DataFrame]:
    """Fit methods to every subset of n labels of one task, and score them on its report texts."""
    methods, draws, device, cells = work
    task, n, *_ = cells[index][0]
    fits = fit_subsets(
        {job.method: methods[job.method] for job in cells[index]},
        task.pool,
        draw_subsets(task, n, draws),
        [task.seed + draw for draw in range(draws)],
        with_saturated(task),
        device=device,
    )
    return [score(task, job.method, n, draws, fits[job.method]) for job in cells[index]]


def _list_scores(paths: Iterable[Path]) -> pl.DataFrame:
    """List the scores of all parts, one a row, and the fits that failed."""
    names, parts = [*METRICS, *FURTHER], []
    for path in paths:
        try:
            parts.append(pl.read_parquet(path, columns=[*FIT, *names, "reason"]))
        except (pl.exceptions.PolarsError, OSError) as error:
            raise FileError(f"{path} is damaged: remove it, and run the sweep again.") from error
    fits = pl.concat(parts).with_row_index("fit")
    failed = fits.drop_nulls("reason").select("fit", *FIT, "reason", metric=pl.lit("failed"))
    table = fits.unpivot(names, index=["fit", *FIT], variable_name="metric").drop_nulls("value")
    table = pl.concat([table, failed], how="diagonal").sort("fit", maintain_order=True)
    return table.select(*FIT, "metric", "value", "reason")
