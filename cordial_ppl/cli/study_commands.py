"""`cordial learn-prior`, `check` and `sweep`: judges, channels and calibrators in general."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

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
from cordial_ppl.cli.output import Result
from cordial_ppl.cli.records import CHOICE, LABELLING, Columns, Labelling, Tables
from cordial_ppl.errors import InputError, count
from cordial_ppl.runtime.progress import doing

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
    Literal["cautious", "paper"],
    option(
        "How far to trust the tasks: cautious, as far as they agree; or as in the paper.",
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
    from cordial_ppl.estimators.task_tables import read_pairs

    read = read_pairs(tables, of="cordial learn-prior", channels=channel, **vars(tasks))
    labelled = {
        (each.task, each.reader): (each.texts.logits, each.texts.labels, each.texts.covariates)
        for each in read
    }
    with doing("loading"), leaving_at_once():
        from cordial_ppl.channels import AFFINE_CHANNELS
        from cordial_ppl.channels.loading import load_channel
        from cordial_ppl.estimators import learning
        from cordial_ppl.estimators.prior_report import describe_prior

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
    return Result(content, text=describe_prior(prior, rows), done=[done])


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
    """Check a channel: contract, gradients, order, posteriors against NUTS, prior, predictions.

    One line a finding: pass, warn or fail. Exit status: 0 if nothing fails, 1 if something does,
    2 wrong usage or bad input.
    """
    if (readings is None) != (labels is None):
        raise InputError("--readings and --labels go together: give both, or neither.")
    texts: tuple[Any, ...] = ()
    if readings and labels:
        from cordial_ppl.estimators.task_tables import read_labelled_first

        settings = vars(columns) | vars(labelling)
        with doing("reading"):
            texts = read_labelled_first(readings, labels, channel, **settings)
    with doing("loading"), leaving_at_once():
        from cordial_ppl.evaluation.checks import check_channel

        report = check_channel(channel, *texts, simulations=simulations, seed=seed)
    return Result(report.to_dict(), report.text, status=int(report.status == "fail"))


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
        from cordial_ppl.evaluation.scoring import mean_losses, show_losses
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
    means = mean_losses(scores)
    done = [f"wrote {output}: {count(len(scores), 'score')}"]
    if len(failed):
        done.append(f"{count(len(failed), 'fit')} failed: see the column reason of {output}")
    content = {"output": str(output), "failed_fits": len(failed), "mean_log_loss": means.to_dicts()}
    return Result(content, text=show_losses(means), done=done)


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise InputError(f"--budgets takes whole numbers, such as 10,20,50; got {text!r}.")
    return int(text)
