"""`cordial learn-prior`: what readers get wrong, learned from tasks with many labels."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from cordial_ppl.cli.messages import count, leaving_at_once, progressing, say, working
from cordial_ppl.cli.options import (
    ENDING,
    Channels,
    Json,
    Options,
    Quiet,
    Rule,
    Seed,
    split_options,
)
from cordial_ppl.errors import CordialWarning, InputError, naming

if TYPE_CHECKING:
    from cordial_ppl.priors import LearnedPrior

Tables = Annotated[
    list[Path],
    typer.Argument(
        metavar="READINGS LABELS ...",
        help="Tables of readings and of labels in turn, one or several pairs, as for calibrate; "
        "each may hold several tasks and readers.",
    ),
]
PriorOut = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="FILE", help=f"The prior to write ({ENDING})."),
]
Readers = Annotated[
    list[str] | None,
    typer.Option("--reader", metavar="NAME", help="A reader to take; may be repeated; else all."),
]
Tasks = Annotated[
    list[str] | None,
    typer.Option("--task", metavar="NAME", help="A task to take; may be repeated; else all."),
]
LeaveOut = Annotated[
    list[str] | None,
    typer.Option("--leave-out", metavar="TASK", help="A task to leave out; may be repeated."),
]
RuleName = Annotated[
    Rule,
    typer.Option(
        "--rule",
        help="How far the new task is thought to be like these: as far as they agree with each "
        "other (cautious), as in the paper, or by a hierarchical model.",
    ),
]
Units = Annotated[
    list[str] | None,
    typer.Option(
        "--unit",
        metavar="NAME=POWER",
        help="The power of classes in the unit of a parameter of your channel, such as drift=1, "
        "where tasks have different numbers of options; may be repeated.",
    ),
]
Key = tuple[str, str]
Texts = tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]


def learn_prior(
    tables: Tables,
    output: PriorOut,
    options: Options = None,
    reader: Readers = None,
    task: Tasks = None,
    leave_out: LeaveOut = None,
    channel: Channels = None,
    unit: Units = None,
    rule: RuleName = Rule.CAUTIOUS,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn a prior from tasks with many labels, for `--prior` of the other commands.

    Every channel is fitted to every task and reader of the tables, to 2,048 labels of each at most.
    A table without a column `task` is a task by its name.
    """
    from cordial_ppl.cli.output import check_output, show_json, show_table

    names, units = split_options(options), _split_units(unit)
    if len(tables) % 2:
        raise InputError(f"tables come in pairs, READINGS LABELS; got {len(tables)} of them.")
    check_output(output, tables, endings=[ENDING])
    with working("reading", quiet):
        found: dict[Key, Texts] = {}
        for readings, labels in zip(tables[::2], tables[1::2], strict=True):
            own = _read_tasks(readings, labels, names, reader, task, channel)
            doubled = [key for key in own if key in found]
            if doubled:
                raise InputError(
                    f"{readings}: {' by '.join(filter(None, doubled[0]))} was in an earlier table."
                )
            again = {name for name, _ in own} & {name for name, _ in found}
            if again:
                warnings.warn(
                    f"{readings}: {sorted(again)[0]!r} is a task of an earlier table too, and "
                    "counts as the same; give it another name if it is not.",
                    CordialWarning,
                    stacklevel=2,
                )
            found |= own
    _check_chosen("reader", reader, {name for _, name in found})
    _check_chosen("task", task, {name for name, _ in found})
    with working("loading", quiet), leaving_at_once():
        from cordial_ppl import priors
        from cordial_ppl.channels import AFFINE_CHANNELS
        from cordial_ppl.loading import load_channel
        from cordial_ppl.priors.table import learned_rows

        models = [load_channel(own) for own in (*AFFINE_CHANNELS, *map(str, channel or ()))]
    with leaving_at_once(), progressing(quiet) as show:
        vector = rule is not Rule.PAPER
        settings: dict[str, Any] = {"rule": rule.value, "vector": vector, "units": units}
        settings |= {"leave_out": leave_out or (), "seed": seed, "on_done": show}
        prior = priors.learn_prior(found, channels=models, **settings)
    prior.save(output)
    size = _usual_size(prior)
    rows = learned_rows(prior, models, size)
    if json:
        tasks = [
            {"task": fit.task, "reader": fit.reader or None, "labels": int(fit.counts.sum())}
            for fit in prior.fits
        ]
        content = {"output": str(output), "options": size, "fits": tasks}
        show_json(content | {"parameters": [row._asdict() for row in rows]})
    elif not quiet:
        cells = [
            (
                f"{row.channel}  {row.parameter}",
                f"{row.mean:.2f} ± {row.spread:.2f}",
                f"{row.own_mean:.2f} ± {row.own_spread:.2f}",
            )
            for row in rows
        ]
        title = f"Prior for {size} options, in units of the scale's length"
        show_table(title, ("", "learned", "default"), cells)
        readers = count(len(prior.fits), "fit")
        say(f"wrote {output}: {readers} of {count(len(prior.tasks), 'task')}")


def _read_tasks(
    readings: Path,
    labels: Path,
    options: tuple[str, ...] | None,
    readers: list[str] | None,
    tasks: list[str] | None,
    channels: list[Path] | None,
) -> dict[Key, Texts]:
    """Logits, labels and covariates of the chosen tasks and readers of two tables."""
    from cordial_ppl.cli.fitting import covariates_of, read_labelled
    from cordial_ppl.tables import list_values, match_labels

    here, there = (list_values(path, "task") for path in (readings, labels))
    wanted = [name for name in here if not tasks or name in tasks]
    if len(wanted) > 1 and not there:
        raise InputError(
            f"{labels} needs a column task, for {readings} holds {', '.join(wanted)}; or choose "
            "the one that the labels are of with --task."
        )
    labelled = [name for name in here if not there or name in there]
    if here and not labelled:
        raise InputError(f"{labels} has labels of none of the tasks {', '.join(here)}.")
    found: dict[Key, Texts] = {}
    for task in labelled or [None]:
        name = readings.stem if task is None else task
        if tasks and name not in tasks:
            continue
        known = list_values(readings, "reader", task)
        for reader in known or [None]:
            if readers and reader not in readers:
                continue
            table, own = read_labelled(readings, labels, options=options, reader=reader, task=task)
            # A reader need not have read every text that has a label.
            if reader is not None and len(known) > 1:
                own = own.among(table.item_ids)
            who = " by ".join(filter(None, (name, reader)))
            if not len(own.labels):
                raise InputError(f"{readings}: none of the labelled texts of {who} has a reading.")
            with naming(f"{readings}: {who}"):
                rows = match_labels(table, own)
                extra = covariates_of(table, channels)
            extra = {key: values[rows] for key, values in extra.items()}
            found[name, reader or ""] = table.logits[rows], own.labels, extra
    return found


def _split_units(texts: list[str] | None) -> dict[str, float]:
    """Read "drift=1" as a name and a number."""
    found = {}
    for text in texts or ():
        name, _, power = text.partition("=")
        try:
            found[name.strip()] = float(power)
        except ValueError:
            raise InputError(
                f"--unit must be NAME=POWER, such as drift=1; found {text!r}."
            ) from None
    return found


def _check_chosen(setting: str, chosen: list[str] | None, found: set[str]) -> None:
    missing = [name for name in chosen or () if name not in found]
    if missing:
        raise InputError(f"--{setting} {missing[0]}: no table holds labelled texts of it.")


def _usual_size(prior: "LearnedPrior") -> int:
    """The number of options that most fits have."""
    sizes = [fit.size for fit in prior.fits]
    return max(sorted(set(sizes)), key=sizes.count)
