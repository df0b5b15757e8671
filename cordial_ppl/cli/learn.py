"""`cordial learn-prior`: what readers get wrong, learned from tasks with many labels."""

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from cordial_ppl.cli.messages import count, leaving_at_once, say
from cordial_ppl.cli.options import (
    ENDING,
    Channels,
    Id,
    Labelling,
    Options,
    Readers,
    Rule,
    Seed,
    Shown,
    argument,
    option,
    output,
    split_options,
)
from cordial_ppl.errors import InputError, list_names, naming
from cordial_ppl.runtime.progress import doing

if TYPE_CHECKING:
    from cordial_ppl.inference.priors import LearnedPrior

Key = tuple[str, str]
Texts = tuple[np.ndarray, np.ndarray, Mapping[str, np.ndarray]]
Names = list[str] | None
TABLES = (
    "Tables of readings and of labels in turn, as for calibrate; for several tasks and readers."
)
RULE = (
    "How far to trust the tasks: as far as they agree with each other (cautious), or as the paper."
)
VERBOSE = "Print the prior of every parameter, too."
MOST = 5
"""Parameters in the summary: those whose prior moves most."""

UNIT = "The power of K in the unit of a parameter of your channel: drift=1; may be repeated."


def learn_prior(
    tables: Annotated[list[Path], argument("READINGS LABELS ...", TABLES)],
    out: Annotated[Path, output("FILE", f"The prior to write ({ENDING}).")],
    labelling: Labelling,
    shown: Shown,
    options: Options = None,
    reader: Readers = None,
    task: Annotated[Names, option("NAME", "A task; may be repeated.")] = None,
    id: Id = None,
    leave_out: Annotated[Names, option("TASK", "A task to leave out; may be repeated.")] = None,
    channel: Channels = None,
    unit: Annotated[Names, option("NAME=POWER", UNIT)] = None,
    rule: Annotated[Rule, option(None, RULE)] = Rule.CAUTIOUS,
    seed: Seed = 0,
    verbose: Annotated[bool, option(None, VERBOSE, "--verbose", "-v")] = False,
) -> None:
    """Learn a prior from tasks with many labels, for `--prior` of the other commands.

    Every channel is fitted to every task and reader of the tables, to 2,048 labels of each at most.
    A table without a column `task` is a task by its name.
    """
    from cordial_ppl.cli.output import check_output, show_json, show_table

    settings = labelling.label_settings | {"options": split_options(options), "id": id or ()}
    units = dict(map(_split_unit, unit or ()))
    if len(tables) % 2:
        raise InputError(f"tables come in pairs, READINGS LABELS; got {len(tables)} of them.")
    check_output(out, tables, endings=[ENDING])
    labelled: dict[Key, Texts] = {}
    with doing("reading"):
        for readings, labels in zip(tables[::2], tables[1::2], strict=True):
            read = _read_tasks(readings, labels, settings, reader, task, channel)
            for key, texts in read.items():
                if key in labelled:
                    who = " by ".join(filter(None, key))
                    raise InputError(f"{readings}: {who} was in an earlier table.")
                labelled[key] = texts
    for setting, chosen, part in (("reader", reader, 1), ("task", task, 0)):
        names = {key[part] for key in labelled}
        missing = {name for name in chosen or () if name.partition("=")[2] not in names} - names
        if missing:
            raise InputError(f"--{setting} {min(missing)}: no table holds labelled texts of it.")
    with doing("loading"), leaving_at_once():
        from cordial_ppl.channels import AFFINE_CHANNELS
        from cordial_ppl.channels.loading import load_channel
        from cordial_ppl.inference import priors

        models = [load_channel(name) for name in (*AFFINE_CHANNELS, *map(str, channel or ()))]
        prior = priors.learn_prior(
            labelled,
            channels=models,
            leave_out=leave_out or (),
            rule=rule.value,
            vector=rule is not Rule.PAPER,
            units=units,
            seed=seed,
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
        shipped = priors.shipped_prior()
        replaced = [model for model in models if model.name in shipped.channels]
        _summarise(prior, rows, shipped.describe(replaced, size))
        if verbose:
            cells = [
                (
                    f"{row['channel']}  {row['parameter']}",
                    f"{row['loc']:.2f} ± {row['scale']:.2f}",
                    f"{row['default_loc']:.2f} ± {row['default_scale']:.2f}",
                )
                for row in rows
            ]
            title = f"\nAll for {size} options, in the numbers that --prior-of takes"
            show_table(title, ("", "learned", "channel's own"), cells)
        fits, tasks = count(len(prior.fits), "fit"), count(len(prior.tasks), "task")
        say(f"wrote {out}: {fits} of {tasks}")


def _summarise(prior: "LearnedPrior", rows: list[dict], shipped: list[dict]) -> None:
    """Print what a prior is from, and how far it lies from the channels' own and the default."""
    from cordial_ppl.cli.output import STDOUT, show_table

    readers = {fit.reader for fit in prior.fits if fit.reader}
    sizes = sorted({sum(fit.counts) for fit in prior.fits})
    labels = f"{sizes[0]:,} to {sizes[-1]:,} labels" if len(sizes) > 1 else f"{sizes[0]:,} labels"
    by = f" by {count(len(readers), 'reader')}" if readers else ""
    tasks = f"{count(len(prior.tasks), 'task')}{by}"
    STDOUT.print(f"A prior from {tasks}, {count(len(prior.fits), 'fit')} to {labels} each")
    STDOUT.print(f"  {list_names(prior.tasks)}\n")

    def move(row: dict) -> float:
        return abs(row["loc"] - row["default_loc"]) / row["default_scale"]

    cells = []
    for channel, group in groupby(rows, lambda row: row["channel"]):
        parameters = list(group)
        far = np.median([move(row) for row in parameters])
        width = np.median([row["scale"] / row["default_scale"] for row in parameters])
        cells.append((channel, str(len(parameters)), f"{far:.2f}", f"{width:.2f}"))
    title = "Against the channels' own priors, in units of their widths (medians)"
    show_table(title, ("", "parameters", "centres move by", "widths become"), cells)
    STDOUT.print("\nMoved most: what a fit expects before it has seen a label")
    for row in sorted(rows, key=move, reverse=True)[:MOST]:
        STDOUT.print(
            f"  {row['channel']}: {row['parameter']} {row['centre']:.2f} in place of "
            f"{row['default_centre']:.2f}"
        )
    replaced = {(row["channel"], row["parameter"]): row["loc"] for row in shipped}
    away = [
        abs(row["loc"] - replaced[key]) / row["default_scale"]
        for row in rows
        if (key := (row["channel"], row["parameter"])) in replaced
    ]
    if away:
        STDOUT.print(
            f"Its centres lie {np.median(away):.2f} from those of the default prior, which "
            f"--prior replaces, in the same widths (median; {max(away):.2f} at most)."
        )


def _read_tasks(
    readings: Path,
    labels: Path,
    settings: Mapping[str, Any],
    readers: list[str] | None,
    tasks: list[str] | None,
    channels: list[Path] | None,
) -> dict[Key, Texts]:
    """Read logits, labels and covariates of the chosen tasks and readers of two tables."""
    from cordial_ppl.cli.calibrate import take_labelled
    from cordial_ppl.tables import list_values, read_labelled

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
    labelled_texts: dict[Key, Texts] = {}
    for task in labelled or [None]:
        name = task or readings.stem
        if tasks and name not in tasks:
            continue
        by_name = list_values(readings, "reader", task, readers or ())
        for reader, choice in (by_name or {None: None}).items():
            if readers and not {reader, choice} & {*readers}:
                continue
            who = " by ".join(filter(None, (name, reader)))
            with naming(f"{readings}: {who}"):
                # A reader need not have read every text that has a label.
                table, rated, rows = read_labelled(
                    readings, labels, reader=choice, task=task, sparse=len(by_name) > 1, **settings
                )
                rated.check_single("cordial learn-prior")
                texts = take_labelled(table, rows, rated, channels)
            labelled_texts[name, reader or ""] = texts.logits, texts.labels, texts.covariates
    return labelled_texts


def _split_unit(text: str) -> tuple[str, float]:
    """Read "drift=1" as a name and a number."""
    name, _, power = text.partition("=")
    try:
        return name.strip(), float(power)
    except ValueError:
        raise InputError(f"--unit must be NAME=POWER, such as drift=1; found {text!r}.") from None
