"""`cordial learn-prior`, `check` and `sweep`: judges, channels and calibrators in general."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter

from cordial_ppl.cli.command import command
from cordial_ppl.cli.messages import leaving_at_once
from cordial_ppl.cli.options import (
    ADVANCED,
    COLUMNS,
    FILES,
    MODEL,
    TABLE,
    CalibratorWritten,
    Channels,
    Engine,
    List,
    Natural,
    Number,
    Out,
    Seed,
    Some,
    Written,
    option,
    split_pairs,
)
from cordial_ppl.cli.output import Result, as_table
from cordial_ppl.cli.records import CHOICE, LABELLING, Columns, Labelling, Read, Tables
from cordial_ppl.errors import InputError, count, list_names, naming
from cordial_ppl.runtime.progress import doing

if TYPE_CHECKING:
    import polars as pl

    from cordial_ppl.inference.priors import LearnedPrior

Key = tuple[str, str]
Task = tuple[np.ndarray, np.ndarray, Mapping[str, np.ndarray]]
MOST = 5
"""Parameters in the summary: those whose prior moves most."""


LeaveOut = Annotated[
    Sequence[str],
    option("Task to leave out; may be repeated.", "TASK", COLUMNS),
]
Units = Annotated[
    Sequence[str],
    option(
        "Power of K in the unit of a parameter, as drift=1; repeatable.",
        "NAME=POWER",
        ADVANCED,
    ),
]
LearningRule = Annotated[
    Literal["cautious", "trained", "paper"],
    option(
        "How far to trust the tasks: cautious, as far as they agree; trained (minutes), as "
        "lowers the loss of few labels; or as in the paper.",
        "RULE",
    ),
]


@Parameter(name="*", group=COLUMNS)
@dataclass(frozen=True, kw_only=True)
class Tasks(Labelling, Columns):
    """Choice of tasks and judges, and what is read of them."""

    reader: Some = ()  # pyright: ignore[reportIncompatibleVariableOverride]
    "Judge to take, from column `reader` (or COLUMN=NAME); may be repeated."
    task: Some = ()  # pyright: ignore[reportIncompatibleVariableOverride]
    "Task to take, from column `task`; may be repeated."


TASKS = Tasks()


@command
def learn_prior(
    tables: Annotated[
        Sequence[Path],
        option("Tables of readings and of labels in turn: READINGS LABELS READINGS LABELS."),
    ],
    /,
    *,
    output: Annotated[CalibratorWritten, Out, option("Prior to write (.cordial).")],
    tasks: Tasks = TASKS,
    leave_out: LeaveOut = (),
    channel: Channels = (),
    unit: Units = (),
    rule: LearningRule = "cautious",
    seed: Seed = 0,
) -> Result:
    """Learn a prior from tasks with many labels, for `--prior` of the other commands.

    Every channel is fitted to every task and judge of the tables, to 2,048 labels of each at most.
    A table without a column `task` is a task by its name.
    """
    units = dict(split_pairs("--unit", unit, "NAME=POWER, such as drift=1", float))
    labelled = _read_tables(tables, tasks, channel)
    with doing("loading"), leaving_at_once():
        from cordial_ppl.channels import AFFINE_CHANNELS
        from cordial_ppl.channels.loading import load_channel
        from cordial_ppl.estimators import learning

        models = [load_channel(name) for name in (*AFFINE_CHANNELS, *map(str, channel))]
        prior = learning.learn_prior(
            labelled,
            channels=models,
            leave_out=leave_out,
            rule=rule,
            vector=rule != "paper",
            units=units,
            seed=seed,
        )
    prior.save(output)
    sizes = sorted(fit.size for fit in prior.fits)
    size = max(sizes, key=sizes.count)
    rows = prior.describe(models, size)
    fits = [
        {"task": fit.task, "reader": fit.reader or None, "labels": sum(fit.counts)}
        for fit in prior.fits
    ]
    content = {"output": str(output), "options": size, "fits": fits, "parameters": rows}
    done = f"wrote {output}: {count(len(fits), 'fit')} of {count(len(prior.tasks), 'task')}"
    return Result(content, text=_summarise(prior, rows), done=[done])


def _read_tables(tables: Sequence[Path], tasks: Tasks, channels: Sequence[Path]) -> dict[Key, Task]:
    """Read the labelled texts of every task and judge that is chosen.

    Raises:
        InputError: A table is not as it must be, two hold the same, or none what is chosen.
    """
    if len(tables) % 2:
        raise InputError(f"tables come in pairs, READINGS LABELS; got {len(tables)} of them.")
    labelled: dict[Key, Task] = {}
    for readings, labels in zip(tables[::2], tables[1::2], strict=True):
        with doing("reading"):
            read = _read_tasks(readings, labels, tasks, channels)
        for key in read:
            if key in labelled:
                who = " by ".join(filter(None, key))
                raise InputError(f"{readings}: {who} was in an earlier table.")
        labelled |= read
    for setting, chosen, part in (("reader", tasks.reader, 1), ("task", tasks.task, 0)):
        names = {key[part] for key in labelled}
        missing = {name for name in chosen if name.partition("=")[2] not in names} - names
        if missing:
            raise InputError(f"--{setting} {min(missing)}: no table holds labelled texts of it.")
    return labelled


def _read_tasks(
    readings: Path, labels: Path, chosen: Tasks, channels: Sequence[Path]
) -> dict[Key, Task]:
    """Read logits, labels and covariates of the chosen tasks and judges of two tables."""
    from cordial_ppl.cli.fit_commands import take_labelled
    from cordial_ppl.tables import list_values, read_labelled

    # A column that is named is that, and no task or judge.
    ids = [name for names in chosen.id for name in (names, *names.split(","))]
    rated = [*ids, *filter(None, (chosen.rating,))]
    told = [*ids, *(chosen.label or ()), *filter(None, (chosen.annotator,))]
    here = list_values(readings, "task", apart=rated)
    there = list_values(labels, "task", apart=told)
    wanted = [name for name in here if not chosen.task or name in chosen.task]
    if len(wanted) > 1 and not there:
        raise InputError(
            f"{labels} needs a column task, for {readings} holds {', '.join(wanted)}; or choose "
            "the one that the labels are of with --task."
        )
    common = [name for name in here if not there or name in there]
    if here and not common:
        raise InputError(f"{labels} has labels of none of the tasks {', '.join(here)}.")
    settings, readers = vars(chosen), chosen.reader
    labelled: dict[Key, Task] = {}
    for task in common or [None]:
        name = task or readings.stem
        if chosen.task and name not in chosen.task:
            continue
        by_name = list_values(readings, "reader", task, readers, rated)
        sparse = len(by_name) > 1
        for reader, choice in (by_name or {None: None}).items():
            if readers and not {reader, choice} & {*readers}:
                continue
            who = " by ".join(filter(None, (task, reader)))
            with naming(": ".join(filter(None, (str(readings), who)))):
                # A judge need not have read every text that has a label.
                taken = {"task": task, "reader": choice, "sparse": sparse}
                read = Read(*read_labelled(readings, labels, **(settings | taken)))
                read.labels.check_single("cordial learn-prior")
                texts = take_labelled(read, channels)
            labelled[name, reader or ""] = texts.logits, texts.labels, texts.covariates
    return labelled


def _summarise(prior: "LearnedPrior", rows: Sequence[Mapping[str, Any]]) -> str:
    """Say what a prior is from, and how far it lies from the channels' own."""
    readers = {fit.reader for fit in prior.fits if fit.reader}
    sizes = sorted({sum(fit.counts) for fit in prior.fits})
    labels = f"{sizes[0]:,} to {sizes[-1]:,} labels" if len(sizes) > 1 else f"{sizes[0]:,} labels"
    by = f" by {count(len(readers), 'reader')}" if readers else ""
    tasks = f"{count(len(prior.tasks), 'task')}{by}"

    def move(row: Mapping[str, Any]) -> float:
        """Measure how far a centre has moved, in units of the channel's own width."""
        return abs(row["loc"] - row["default_loc"]) / row["default_scale"]

    cells = []
    for channel, group in groupby(rows, lambda row: row["channel"]):
        parameters = list(group)
        far = np.median([move(row) for row in parameters])
        width = np.median([row["scale"] / row["default_scale"] for row in parameters])
        cells.append((channel, str(len(parameters)), f"{far:.2f}", f"{width:.2f}"))
    title = "Against the channels' own priors, in units of their widths (medians)"
    return "\n".join(
        [
            f"A prior from {tasks}, {count(len(prior.fits), 'fit')} to {labels} each",
            f"  {list_names(prior.tasks)}\n",
            as_table(title, ("", "parameters", "centres move by", "widths become"), cells),
            "\nMoved most: what a fit expects before it has seen a label",
            *(
                f"  {row['channel']}: {row['parameter']} {row['centre']:.2f} in place of "
                f"{row['default_centre']:.2f}"
                for row in sorted(rows, key=move, reverse=True)[:MOST]
            ),
        ]
    )


Simulations = Annotated[
    Natural, option("Data sets for simulation-based calibration, as 200; none by default.")
]


def _table(text: str) -> Parameter:
    """Declare a table of data."""
    return Parameter(help=text, metavar="FILE", group=FILES)


@command
def check(
    channel: Annotated[str, option("Channel file, whose code is run, or the name of a channel.")],
    /,
    *,
    columns: Columns = CHOICE,
    labelling: Labelling = LABELLING,
    readings: Annotated[
        Path | None, _table("Table of readings to check it on, in place of made-up reviews.")
    ] = None,
    labels: Annotated[Path | None, _table("Table of labels of some of these texts.")] = None,
    simulations: Simulations = 0,
    seed: Seed = 0,
) -> Result:
    """Check a channel: contract, gradients, order, prior, and posteriors against NUTS.

    One line a finding: pass, warn or fail. Exit status: 0 if nothing fails, 1 if something does,
    2 wrong usage or bad input.
    """
    if (readings is None) != (labels is None):
        raise InputError("--readings and --labels go together: give both, or neither.")
    with doing("loading"):
        from cordial_ppl.evaluation.checks import check_channel
    with doing("reading"), leaving_at_once():
        settings = vars(columns) | vars(labelling)
        texts = _read(channel, readings, labels, settings) if readings and labels else ()
        report = check_channel(channel, *texts, simulations=simulations, seed=seed)
    return Result(report.to_dict(), report.text, status=int(report.status == "fail"))


def _read(channel: str, readings: Path, labels: Path, settings: dict[str, Any]) -> tuple[Any, ...]:
    """Read texts with those that are labelled first, their labels, and covariates."""
    from cordial_ppl.cli.fit_commands import take_covariates
    from cordial_ppl.tables import read_labelled

    table, labelled, rows = read_labelled(readings, labels, **settings)
    labelled.check_single("cordial check")
    order = np.concatenate([rows, np.setdiff1d(np.arange(len(table)), rows)])
    covariates = take_covariates(table, [channel])
    extra = {name: column[order] for name, column in covariates.items()}
    return table.logits[order], labelled.labels, extra


@Parameter(name="*", group=MODEL)
@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What is compared, on how many labels, and where."""

    methods: List = ()
    "Names, as raw, histogram, paper, cordial; or channel files, which are run."
    budgets: Annotated[List, Parameter(metavar="N,...")] = ()
    "Numbers of labels, as 10,20,50; by default 5 to 100."
    draws: Number = 20
    "Random subsets of each number of labels."
    report: Number = 1000
    "Labelled texts to score on; others are drawn."
    seed: Seed = 0
    engine: Engine = "local"

    device: Annotated[
        Literal["auto", "host", "accelerator"], Parameter(metavar="DEVICE", group=ADVANCED)
    ] = "auto"
    "Where to fit: on the host, on an accelerator, or there if JAX finds one (auto)."


COMPARISON = Comparison()
Scores = Annotated[Written, Out, option(f"Table to write {TABLE}: a row for each score.")]


@command
def sweep(tables: Tables, *, output: Scores, wanted: Comparison = COMPARISON) -> Result:
    """Compare calibrators on the same random subsets of the labels, for each judge.

    OUT has a row for each score of each fit. A folder beside it, named OUT.parts, keeps what is
    done: an interrupted sweep resumes, and methods, numbers of labels and judges can be added.
    """
    with doing("loading"), leaving_at_once():
        from cordial_ppl.evaluation.methods import NINE, make_methods
        from cordial_ppl.evaluation.sweeps import BUDGETS, run_sweep
        from cordial_ppl.evaluation.tasks import read_tasks
        from cordial_ppl.tables import write_table

        numbers = [_whole(text) for text in wanted.budgets] or BUDGETS
        made = make_methods(wanted.methods or NINE)
        channels = [c for estimator in made.values() for c in estimator.settings.channels]
        texts = {"report": wanted.report, "channels": channels, "seed": wanted.seed}
        tasks = read_tasks(**vars(tables), **texts)
        parts = output.with_name(f"{output.name}.parts")
        where = {"parts": parts, "engine": wanted.engine, "device": wanted.device}
        scores = run_sweep(tasks, made, numbers, wanted.draws, **where)
        write_table(output, scores.lazy())
    failed = scores.filter(metric="failed")
    means = _mean_losses(scores)
    done = [f"wrote {output}: {count(len(scores), 'score')}"]
    if len(failed):
        done.append(f"{count(len(failed), 'fit')} failed: see the column reason of {output}")
    content = {"output": str(output), "failed_fits": len(failed), "mean_log_loss": means.to_dicts()}
    return Result(content, text=_show_losses(means), done=done)


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise InputError(f"--budgets takes whole numbers, such as 10,20,50; got {text!r}.")
    return int(text)


def _mean_losses(scores: "pl.DataFrame") -> "pl.DataFrame":
    """Return the mean log loss of each method over the draws; null where all of its fits failed."""
    import polars as pl

    fits = scores.filter(pl.col("metric").is_in(["log_loss", "failed"]))
    by = "task", "reader", "n", "method"
    return fits.group_by(by, maintain_order=True).agg(log_loss=pl.col("value").mean())


def _show_losses(means: "pl.DataFrame") -> str:
    """Set out the mean log losses, a table for each task and judge."""
    shown = []
    for (task, reader), part in means.group_by("task", "reader", maintain_order=True):
        table = part.pivot("n", index="method", values="log_loss")
        title = f"\n{task}, {reader}: mean log loss by number of labels"
        rows = [
            (method, *("failed" if loss is None else f"{loss:.3f}" for loss in losses))
            for method, *losses in table.rows()
        ]
        shown.append(as_table(title, ("", *table.columns[1:]), rows))
    return "\n".join(shown)
