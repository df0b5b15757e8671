"""Labelled texts of tables: of one task and judge, or of every one of several tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int64

from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.labelling import as_texts
from cordial_ppl.errors import InputError, naming
from cordial_ppl.runtime.progress import doing
from cordial_ppl.tables import LabelTable, ReadingTable, list_values, read_labelled

Key = tuple[str, str]
Task = tuple[np.ndarray, np.ndarray, Mapping[str, np.ndarray]]


def take_labelled(
    table: ReadingTable,
    labels: LabelTable,
    rows: Int64[np.ndarray, " n"],
    channels: Sequence[Any] = (),
) -> Labelled:
    """Take the labelled texts, with the covariates that channels ask for.

    Args:
        table: The readings of all texts.
        labels: The labels, each of a text that has a reading.
        rows: The rows of the labelled texts, one per label.
        channels: Channels, or names or files of some.

    Raises:
        InputError: A column is missing, or does not hold finite numbers or the levels of a channel.
        ChannelError: A file does not hold a channel.
    """
    columns = take_covariates(table, channels)
    covariates = {name: column[rows] for name, column in columns.items()}
    texts = as_texts(labels.item_ids, len(rows))
    return Labelled(table.logits[rows], labels.labels, covariates, labels.weights, texts)


def take_covariates(table: ReadingTable, channels: Sequence[Any]) -> dict[str, np.ndarray]:
    """Take the columns that channels ask for, of all texts; raises as `take_labelled`."""
    covariates: dict[str, np.ndarray] = {}
    if not channels:
        return covariates
    from cordial_ppl.channels.channel import count_levels
    from cordial_ppl.channels.loading import load_channel
    from cordial_ppl.inference.tracing import find_covariates

    for channel in map(load_channel, channels):
        with naming(f"channel {channel.name!r}"):
            names = find_covariates(channel, table.scale.size)
            covariates |= table.covariates(names, count_levels(channel))
    return covariates


def read_pairs(
    tables: Sequence[Path],
    *,
    channels: Sequence[str | Path] = (),
    reader: Sequence[str] = (),
    task: Sequence[str] = (),
    **columns: Any,
) -> dict[Key, Task]:
    """Read the labelled texts of every task and judge that is chosen.

    Args:
        tables: Tables of readings and of labels in turn.
        channels: Names or files of channels, whose covariates are read too.
        reader: The judges to take, as names or "COLUMN=NAME"; by default all.
        task: The tasks to take; by default all.
        columns: Further arguments of ``read_labelled``.

    Returns:
        Logits, labels and covariates by the names of task and judge, as ``learn_prior`` takes them.

    Raises:
        InputError: A table is not as it must be, two hold the same, or none what is chosen.
    """
    if len(tables) % 2:
        raise InputError(f"tables come in pairs, READINGS LABELS; got {len(tables)} of them.")
    labelled: dict[Key, Task] = {}
    for readings, labels in zip(tables[::2], tables[1::2], strict=True):
        with doing("reading"):
            read = _read_pair(readings, labels, channels, reader, task, columns)
        for key in read:
            if key in labelled:
                who = " by ".join(filter(None, key))
                raise InputError(f"{readings}: {who} was in an earlier table.")
        labelled |= read
    for setting, chosen, part in (("reader", reader, 1), ("task", task, 0)):
        names = {key[part] for key in labelled}
        missing = {name for name in chosen if name.partition("=")[2] not in names} - names
        if missing:
            raise InputError(f"{setting} {min(missing)}: no table holds labelled texts of it.")
    return labelled


def _read_pair(
    readings: Path,
    labels: Path,
    channels: Sequence[str | Path],
    readers: Sequence[str],
    tasks: Sequence[str],
    columns: dict[str, Any],
) -> dict[Key, Task]:
    """Read logits, labels and covariates of the chosen tasks and judges of two tables."""
    # A column that is named is that, and no task or judge.
    ids = [name for names in columns.get("id", ()) for name in (names, *names.split(","))]
    rated = [*ids, *filter(None, (columns.get("rating"),))]
    told = [*ids, *columns.get("label", ()), *filter(None, (columns.get("annotator"),))]
    here = list_values(readings, "task", apart=rated)
    there = list_values(labels, "task", apart=told)
    wanted = [name for name in here if not tasks or name in tasks]
    if len(wanted) > 1 and not there:
        raise InputError(
            f"{labels} needs a column task, for {readings} holds {', '.join(wanted)}; or choose "
            "the task that the labels are of."
        )
    common = [name for name in here if not there or name in there]
    if here and not common:
        raise InputError(f"{labels} has labels of none of the tasks {', '.join(here)}.")
    labelled: dict[Key, Task] = {}
    for task in common or [None]:
        name = task or readings.stem
        if tasks and name not in tasks:
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
                read = read_labelled(readings, labels, **(columns | taken))
                read[1].check_single("cordial learn-prior")
                texts = take_labelled(*read, channels)
            labelled[name, reader or ""] = texts.logits, texts.labels, texts.covariates
    return labelled


def read_labelled_first(
    readings: Path, labels: Path, channel: str, **columns: Any
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Read all texts, those that are labelled first, for a check of a channel.

    Args:
        readings: The table of readings.
        labels: The table of labels, one of each labelled text.
        channel: The name or file of the channel.
        columns: Further arguments of ``read_labelled``.

    Returns:
        Logits of all texts, labels of the first ones, and covariates of all.
    """
    table, labelled, rows = read_labelled(readings, labels, **columns)
    labelled.check_single("cordial check")
    order = np.concatenate([rows, np.setdiff1d(np.arange(len(table)), rows)])
    covariates = take_covariates(table, [channel])
    extra = {name: column[order] for name, column in covariates.items()}
    return table.logits[order], labelled.labels, extra
