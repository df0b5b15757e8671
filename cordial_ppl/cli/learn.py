"""`cordial learn-prior`: what judges get wrong, learned from tasks with many labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter

from cordial_ppl.cli.messages import leaving_at_once
from cordial_ppl.cli.options import (
    ADVANCED,
    COLUMNS,
    FILES,
    MODEL,
    CalibratorOut,
    Channels,
    Seed,
    option,
)
from cordial_ppl.cli.output import Result, as_table
from cordial_ppl.cli.records import Columns, Judges, Labelling, Read, split_pairs
from cordial_ppl.errors import InputError, count, list_names, naming
from cordial_ppl.runtime.progress import doing

if TYPE_CHECKING:
    from cordial_ppl.inference.priors import LearnedPrior

Key = tuple[str, str]
Task = tuple[np.ndarray, np.ndarray, Mapping[str, np.ndarray]]
MOST = 5
"""Parameters in the summary: those whose prior moves most."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Tasks(Labelling, Columns):
    """Choice of tasks and judges, and what is read of them."""

    reader: Judges = ()  # pyright: ignore[reportIncompatibleVariableOverride]
    task: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Sequence[str], option(COLUMNS, "Task to take; may be repeated.", "NAME")
    ] = ()


EVERY_TASK = Tasks()


def learn_prior(
    tables: Annotated[
        Sequence[Path],
        option(FILES, "Tables of readings and of labels in turn: READINGS LABELS READINGS LABELS."),
    ],
    *,
    output: CalibratorOut,
    tasks: Tasks = EVERY_TASK,
    leave_out: Annotated[
        Sequence[str], option(COLUMNS, "Task to leave out; may be repeated.", "TASK")
    ] = (),
    channel: Channels = (),
    unit: Annotated[
        Sequence[str],
        option(
            ADVANCED,
            "Power of K in the unit of a channel's parameter, as drift=1; may be repeated.",
            "NAME=POWER",
        ),
    ] = (),
    rule: Annotated[
        Literal["cautious", "trained", "paper"],
        option(MODEL, "How far to trust the tasks: as far as they agree, or as the paper.", "RULE"),
    ] = "cautious",
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
    from cordial_ppl.cli.calibrate import take_labelled
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
