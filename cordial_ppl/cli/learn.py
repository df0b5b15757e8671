"""`cordial learn-prior`: what readers get wrong, learned from tasks with many labels."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import numpy as np

from cordial_ppl.cli.messages import count, leaving_at_once, progressing, say, working
from cordial_ppl.cli.options import (
    ENDING,
    Channels,
    Options,
    Rule,
    Seed,
    Shown,
    argument,
    option,
    output,
    split_options,
)
from cordial_ppl.errors import InputError, naming

Key = tuple[str, str]
Texts = tuple[np.ndarray, np.ndarray, Mapping[str, np.ndarray]]
Names = list[str] | None
TABLES = (
    "Tables of readings and of labels in turn, as for calibrate; for several tasks and readers."
)
RULE = (
    "How far to trust the tasks: as far as they agree with each other (cautious), or as the paper."
)
UNIT = "The power of K in the unit of a parameter of your channel: drift=1; may be repeated."


def learn_prior(
    tables: Annotated[list[Path], argument("READINGS LABELS ...", TABLES)],
    out: Annotated[Path, output("FILE", f"The prior to write ({ENDING}).")],
    shown: Shown,
    options: Options = None,
    reader: Annotated[Names, option("NAME", "A reader; may be repeated.")] = None,
    task: Annotated[Names, option("NAME", "A task; may be repeated.")] = None,
    leave_out: Annotated[Names, option("TASK", "A task to leave out; may be repeated.")] = None,
    channel: Channels = None,
    unit: Annotated[Names, option("NAME=POWER", UNIT)] = None,
    rule: Annotated[Rule, option(None, RULE)] = Rule.CAUTIOUS,
    seed: Seed = 0,
) -> None:
    """Learn a prior from tasks with many labels, for `--prior` of the other commands.

    Every channel is fitted to every task and reader of the tables, to 2,048 labels of each at most.
    A table without a column `task` is a task by its name.
    """
    from cordial_ppl.cli.output import check_output, show_json, show_table

    names, units = split_options(options), dict(map(_split_unit, unit or ()))
    if len(tables) % 2:
        raise InputError(f"tables come in pairs, READINGS LABELS; got {len(tables)} of them.")
    check_output(out, tables, endings=[ENDING])
    found: dict[Key, Texts] = {}
    with working("reading", shown.quiet):
        for readings, labels in zip(tables[::2], tables[1::2], strict=True):
            for key, texts in _read_tasks(readings, labels, names, reader, task, channel).items():
                if key in found:
                    who = " by ".join(filter(None, key))
                    raise InputError(f"{readings}: {who} was in an earlier table.")
                found[key] = texts
    for setting, chosen, place in (("reader", reader, 1), ("task", task, 0)):
        missing = set(chosen or ()) - {key[place] for key in found}
        if missing:
            raise InputError(f"--{setting} {min(missing)}: no table holds labelled texts of it.")
    with working("loading", shown.quiet), leaving_at_once():
        from cordial_ppl import priors
        from cordial_ppl.channels import AFFINE_CHANNELS
        from cordial_ppl.loading import load_channel

        models = [load_channel(name) for name in (*AFFINE_CHANNELS, *map(str, channel or ()))]
    with leaving_at_once(), progressing(shown.quiet) as show:
        prior = priors.learn_prior(
            found,
            channels=models,
            leave_out=leave_out or (),
            rule=rule.value,
            vector=rule is not Rule.PAPER,
            units=units,
            seed=seed,
            on_done=show,
        )
    prior.save(out)
    sizes = sorted(fit.size for fit in prior.fits)
    size = max(sizes, key=sizes.count)
    rows = prior.describe(models, size)
    if shown.json:
        fits = [
            {"task": fit.task, "reader": fit.reader or None, "labels": sum(fit.counts)}
            for fit in prior.fits
        ]
        content = {"output": str(out), "options": size, "fits": fits}
        show_json(content | {"parameters": rows})
    elif not shown.quiet:
        cells = [
            (
                f"{row['channel']}  {row['parameter']}",
                f"{row['loc']:.2f} ± {row['scale']:.2f}",
                f"{row['default_loc']:.2f} ± {row['default_scale']:.2f}",
            )
            for row in rows
        ]
        title = f"Prior for {size} options, in the numbers that --prior-of takes"
        show_table(title, ("", "learned", "default"), cells)
        fits, tasks = count(len(prior.fits), "fit"), count(len(prior.tasks), "task")
        say(f"wrote {out}: {fits} of {tasks}")


def _read_tasks(
    readings: Path,
    labels: Path,
    options: tuple[str, ...] | None,
    readers: list[str] | None,
    tasks: list[str] | None,
    channels: list[Path] | None,
) -> dict[Key, Texts]:
    """Logits, labels and covariates of the chosen tasks and readers of two tables."""
    from cordial_ppl.cli.calibrate import take_labelled
    from cordial_ppl.tables import list_values, match_labels, read_labelled

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
        name = task or readings.stem
        if tasks and name not in tasks:
            continue
        known = list_values(readings, "reader", task)
        for reader in known or [None]:
            if readers and reader not in readers:
                continue
            table, rated = read_labelled(
                readings, labels, options=options, reader=reader, task=task
            )
            # A reader need not have read every text that has a label.
            if len(known) > 1:
                rated = rated.among(table.item_ids)
            who = " by ".join(filter(None, (name, reader)))
            if not len(rated.labels):
                raise InputError(f"{readings}: none of the labelled texts of {who} has a reading.")
            with naming(f"{readings}: {who}"):
                rows = match_labels(table, rated)
                texts = take_labelled(table, rows, rated.labels, channels)
            found[name, reader or ""] = texts.logits, texts.labels, texts.covariates
    return found


def _split_unit(text: str) -> tuple[str, float]:
    """Read "drift=1" as a name and a number."""
    name, _, power = text.partition("=")
    try:
        return name.strip(), float(power)
    except ValueError:
        raise InputError(f"--unit must be NAME=POWER, such as drift=1; found {text!r}.") from None
