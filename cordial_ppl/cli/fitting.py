"""From two tables to a fitted judge, and from a judge to what there is to say of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cordial_ppl.cli.messages import leaving_at_once, working
from cordial_ppl.cli.options import Inference, PriorChoice
from cordial_ppl.errors import InputError, naming
from cordial_ppl.scale import Scale, SettingNeeded
from cordial_ppl.tables import (
    LabelTable,
    ReaderTables,
    ReadingTable,
    match_labels,
    read_labels,
    read_provenance,
    read_readings,
)

if TYPE_CHECKING:
    from cordial_ppl.cordial.stack import Stack


def fit_tables(
    readings: Path,
    labels: Path,
    *,
    options: tuple[str, ...] | None,
    reader: str | None,
    task: str | None,
    inference: Inference,
    seed: int,
    channels: list[Path] | None,
    prior: PriorChoice,
    quiet: bool,
) -> tuple[ReadingTable, int, "Stack"]:
    """Read both tables and fit a judge on the texts that have labels.

    Args:
        readings: Table of readings.
        labels: Table of labels.
        options: The options in the scale's order; None as in the readings.
        reader: The reader to take.
        task: The task to take.
        inference: How posteriors are found.
        seed: Seed of everything random.
        channels: Files of further channels.
        prior: File of a learned prior, or priors by parameter.
        quiet: Whether to show nothing.

    Returns:
        The readings of all texts, the number of labels, and the judge.

    Raises:
        InputError: A table is not as it must be, or they do not fit together.
        ChannelError: A file's model breaks the contract of a channel.
    """
    table, found = read_labelled(readings, labels, options=options, reader=reader, task=task)
    rows, covariates = match_labels(table, found), covariates_of(table, channels)
    judge = fit_judge(
        table.logits[rows],
        table.scale.decode(found.labels),
        table.scale.options,
        covariates={name: values[rows] for name, values in covariates.items()},
        inference=inference,
        seed=seed,
        channels=channels,
        prior=prior,
        quiet=quiet,
    )
    judge.provenance_ = read_provenance(table.extras, rows.tolist())
    return table, len(found.labels), judge


def read_labelled(
    readings: Path,
    labels: Path,
    *,
    options: tuple[str, ...] | None,
    reader: str | None,
    task: str | None,
) -> tuple[ReadingTable, LabelTable]:
    """Read both tables.

    Args:
        readings: Table of readings.
        labels: Table of labels.
        options: The options in the scale's order; None as in the readings.
        reader: The reader to take.
        task: The task to take.

    Raises:
        InputError: A table is not as it must be, or they do not fit together.
    """
    table = read_readings(readings, options=options, reader=reader, task=task)
    return table, read_label_table(labels, table.scale, task, table.kind)


def read_label_table(path: Path, scale: Scale, task: str | None, kind: str) -> LabelTable:
    """Read the labels; where they start at 1 and the options at 0, say what to name otherwise.

    Args:
        path: Table of labels.
        scale: The options of the readings.
        task: The task to take.
        kind: What the columns of the readings are.

    Raises:
        InputError: The table is not as it must be.
    """
    try:
        return read_labels(path, scale, task=task)
    except SettingNeeded as error:
        if error.setting != "options" or kind == "rating":
            raise
        # Options that are named by columns cannot be named otherwise by --options.
        first, last = error.value[0], error.value[-1]
        raise InputError(
            f"{error.problem} If your scale starts at 1, name the columns of the readings "
            f"{kind}_{first} to {kind}_{last}."
        ) from error


def covariates_of(
    table: ReadingTable | ReaderTables, channels: Sequence[str | Path] | None
) -> dict[str, np.ndarray]:
    """Read the columns that channel files ask for beside the readings.

    Args:
        table: The readings.
        channels: Files of channels, whose code is run.

    Raises:
        InputError: A column is not there, or is none of finite numbers.
        ChannelError: A file is no channel.
    """
    if not channels:
        return {}
    from cordial_ppl.inference.tracing import find_covariates
    from cordial_ppl.loading import load_channel

    found: dict[str, np.ndarray] = {}
    for path in channels:
        channel = load_channel(path)
        with naming(f"channel {channel.name!r}"):
            for name in find_covariates(channel, table.scale.size):
                found[name] = table.covariate(name)
    return found


def fit_judge(
    logits: np.ndarray,
    labels: list[str],
    options: tuple[str, ...],
    *,
    covariates: dict[str, np.ndarray] | None = None,
    inference: Inference = Inference.DEFAULT,
    seed: int = 0,
    channels: list[Path] | None = None,
    prior: PriorChoice = None,
    quiet: bool = False,
) -> "Stack":
    """Fit a judge, with a sign of life on stderr.

    Args:
        logits: Logits [n, K] of the labelled texts (nats).
        labels: Their options, by name.
        options: The K options.
        covariates: What is known of the labelled texts beside their readings.
        inference: How posteriors are found.
        seed: Seed of everything random.
        channels: Files of further channels.
        prior: File of a learned prior, or priors by parameter.
        quiet: Whether to show nothing.

    Returns:
        The judge.

    Raises:
        InputError: The labels are none that can be learned from.
        ChannelError: A file's model breaks the contract of a channel.
    """
    with working("fitting", quiet), leaving_at_once():
        from cordial_ppl.cordial import Cordial

        further = tuple(map(str, channels or ()))
        settings = {"inference": inference.value, "prior": prior, "seed": seed}
        judge = Cordial(options, channels=further, **settings)
        return judge.fit(logits, labels, covariates)
