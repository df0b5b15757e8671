"""`cordial learn-prior`, `check` and `sweep`: judges, channels and calibrators in general."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mode
from typing import Annotated, Any, Literal

from cyclopts import Parameter

import cordial_ppl as cp
from cordial_ppl.cli import options
from cordial_ppl.cli.command import command
from cordial_ppl.cli.options import BothColumns, Tables, listing, split_pairs
from cordial_ppl.cli.output import Result
from cordial_ppl.errors import InputError, count
from cordial_ppl.runtime.progress import doing

DEVICE = Parameter(metavar="DEVICE", group=options.ADVANCED)


@dataclass(frozen=True, kw_only=True)
class Tasks(BothColumns):
    """Choice of tasks and judges, and what is read of them."""

    reader: options.Some = ()  # pyright: ignore[reportIncompatibleVariableOverride]
    "Judge to use from column `reader`; COLUMN=NAME uses another column; may be repeated."
    task: options.Some = ()  # pyright: ignore[reportIncompatibleVariableOverride]
    "Task to use from column `task`; may be repeated."


@command
def learn_prior(
    tables: Annotated[Sequence[Path], Parameter(group=options.FILES)],
    /,
    *,
    output: options.CalibratorOut,
    tasks: Tasks = Tasks(),
    leave_out: Annotated[Sequence[str], Parameter(metavar="TASK", group=options.COLUMNS)] = (),
    channel: options.Channels = (),
    unit: Annotated[Sequence[str], Parameter(metavar="NAME=POWER", group=options.ADVANCED)] = (),
    rule: Annotated[Literal["cautious", "paper"], Parameter(group=options.MODEL)] = "cautious",
    seed: options.Seed = 0,
) -> Result:
    """Learn a prior from tasks with many labels, for the --prior option of other commands.

    Every channel is fitted to every combination of task and judge, with at most 2,048 labels each.
    A table without a column `task` counts as one task, named after its file.

    Args:
        tables: Tables in pairs: READINGS LABELS READINGS LABELS ...
        output: Prior to write (.cordial).
        leave_out: Task to exclude; may be repeated.
        unit: Exponent, such as drift=1, for scaling a parameter with the number of options.
        rule: How to combine tasks: cautious (as far as they agree) or paper (as in the paper).
    """
    units = dict(split_pairs("--unit", unit, "NAME=POWER, such as drift=1", float))
    from cordial_ppl.estimators.task_tables import read_pairs, take_labelled

    read = read_pairs(tables, of="cordial learn-prior", **vars(tasks))
    from cordial_ppl.channels import AFFINE_CHANNELS
    from cordial_ppl.channels.loading import load_channel
    from cordial_ppl.estimators.learning import describe_prior

    models = [load_channel(name) for name in (*AFFINE_CHANNELS, *map(str, channel))]
    texts = {}
    for key, each in read.items():
        part = take_labelled(each, channel)
        texts[key] = part["logits"], each.labels.labels, part["covariates"]
    settings = {"leave_out": leave_out, "rule": rule, "vector": rule != "paper"}
    prior = cp.learn_prior(texts, channels=models, units=units, seed=seed, **settings)
    prior.save(output)
    size = mode(sorted(fit.size for fit in prior.fits))
    rows = prior.describe(models, size)
    fits = [
        {"task": fit.task, "reader": fit.reader or None, "labels": sum(fit.counts)}
        for fit in prior.fits
    ]
    content = {"output": output, "options": size, "fits": fits, "parameters": rows}
    done = f"wrote {output}: {count(len(fits), 'fit')} to {count(len(prior.tasks), 'task')}"
    return Result(content, text=describe_prior(prior, rows), done=[done])


@command
def check(
    channel: str,
    /,
    *,
    columns: BothColumns = BothColumns(),
    readings: options.File = None,
    labels: options.File = None,
    simulations: options.Natural = 0,
    seed: options.Seed = 0,
) -> Result:
    """Test a channel's contract, gradients, order, prior and predictions, and compare it with NUTS.

    Each finding is one line: pass, warn or fail. The exit status is 1 if any test fails.

    Args:
        channel: Channel file, whose code is run, or name of a built-in channel.
        readings: Table of readings to use instead of synthetic reviews.
        labels: Table of labels for some of the texts in --readings.
        simulations: Number of data sets for simulation-based calibration; by default none.
    """
    texts: tuple[Any, ...] = ()
    if bool(readings) != bool(labels):
        raise InputError("--readings and --labels must be used together. Pass both or neither.")
    if readings and labels:
        import numpy as np

        from cordial_ppl.estimators.task_tables import take_covariates
        from cordial_ppl.tables import read_labelled

        with doing("reading"):
            table, labelled, rows = read_labelled(readings, labels, **vars(columns)).drop_unread()
            labelled.check_single("cordial check")
            # Those with labels come first; texts without a reading are left out.
            order = [*rows, *np.setdiff1d(np.flatnonzero(~table.unread), rows)]
            extra = take_covariates(table, [channel])
            extra = {name: column[order] for name, column in extra.items()}
            texts = table.logits[order], labelled.labels, extra
    from cordial_ppl.evaluation.checks import check_channel

    report = check_channel(channel, *texts, simulations=simulations, seed=seed)
    content = {"channel": report.channel, "status": report.status, "findings": report.findings}
    return Result(content, report.text, status=int(report.status == "fail"))


@Parameter(name="*", group=options.MODEL)
@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What is compared, on how many labels, and where."""

    methods: options.List = ()
    "Methods or channel files to compare, such as raw,histogram,cordial. Use only trusted files."
    budgets: Annotated[options.List, listing("N,...")] = ()
    "Numbers of labels to try, such as 10,20,50; by default, from 5 to 100."
    draws: options.Number = 20
    "Number of random subsets to draw for each number of labels."
    report: options.Number | None = None
    "Number of labelled texts to score; by default 1,000, or half if there are 1,000 or fewer."
    seed: options.Seed = 0
    engine: options.Engine = "local"
    "Run on this machine (`local`) or on the cluster at RAY_ADDRESS (`ray`)."
    device: Annotated[Literal["auto", "host", "accelerator"], DEVICE] = "auto"
    "Where to fit: host, accelerator, or auto (an accelerator if JAX finds one)."


@command
def sweep(tables: Tables, *, output: options.TableOut, wanted: Comparison = Comparison()) -> Result:
    """Compare calibrators on the same random subsets of the labels, for each judge.

    OUT has one row for each score of each fit. Finished work is saved in the folder OUT.parts, so
    you can resume an interrupted sweep, or add methods, numbers of labels and judges.

    Args:
        output: Table to write (.csv, .parquet, .jsonl): one row per score.
    """
    if unknown := [text for text in wanted.budgets if not text.isdecimal()]:
        raise InputError(f"--budgets must be whole numbers, such as 10,20,50; got {unknown[0]!r}.")
    from cordial_ppl.evaluation.methods import NINE, make_methods
    from cordial_ppl.evaluation.scoring import mean_losses, show_losses
    from cordial_ppl.evaluation.sweeps import BUDGETS, run_sweep
    from cordial_ppl.evaluation.tasks import read_tasks
    from cordial_ppl.tables import write_table

    made = make_methods(wanted.methods or NINE)
    channels = [c for estimator in made.values() for c in estimator.settings.channels]
    texts = {"report": wanted.report, "channels": channels, "seed": wanted.seed}
    budgets = [*map(int, wanted.budgets)] or BUDGETS
    parts = output.with_name(f"{output.name}.parts")
    where = {"parts": parts, "engine": wanted.engine, "device": wanted.device}
    scores = run_sweep(read_tasks(**vars(tables), **texts), made, budgets, wanted.draws, **where)
    write_table(output, scores.lazy())
    failed, means = scores.filter(metric="failed"), mean_losses(scores)
    done = [f"wrote {output}: {count(len(scores), 'score')}"]
    if len(failed):
        done.append(f"{count(len(failed), 'fit')} failed; see column 'reason' in {output}")
    content = {"output": output, "failed_fits": len(failed), "mean_log_loss": means.to_dicts()}
    return Result(content, text=show_losses(means), done=done)
