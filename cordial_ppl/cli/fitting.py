"""From two tables to a fitted calibrator."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cordial_ppl.cli.messages import leaving_at_once, working
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
    chosen: Mapping[str, Any],
    settings: Mapping[str, Any],
    *,
    channels: list[Path] | None,
    quiet: bool,
) -> tuple[ReadingTable, int, "Stack"]:
    """Read both tables and fit a calibrator on the texts that have labels.

    Args:
        readings: Table of readings.
        labels: Table of labels.
        chosen: What is read: `options`, `reader` and `task`.
        settings: Settings of `Cordial`: `prior`, `inference` and `seed`.
        channels: Files of further channels.
        quiet: Whether to show nothing.

    Returns:
        The readings of all texts, the number of labels, and the calibrator.

    Raises:
        InputError: A table is not as it must be, or they do not fit together.
        ChannelError: A file's model breaks the contract of a channel.
    """
    table, found = read_labelled(readings, labels, **chosen)
    rows, covariates = match_labels(table, found), covariates_of(table, channels)
    calibrator = fit_calibrator(
        table.logits[rows],
        table.scale.decode(found.labels),
        table.scale.options,
        covariates={name: values[rows] for name, values in covariates.items()},
        channels=channels,
        quiet=quiet,
        **settings,
    )
    calibrator.provenance_ = read_provenance(table.extras, rows.tolist())
    return table, len(found.labels), calibrator


def read_labelled(
    readings: Path, labels: Path, *, task: str | None, **chosen: Any
) -> tuple[ReadingTable, LabelTable]:
    """Read both tables; `chosen` are the `options` and the `reader` to take.

    Raises:
        InputError: A table is not as it must be, or they do not fit together.
    """
    table = read_readings(readings, task=task, **chosen)
    return table, read_label_table(labels, table.scale, task, table.kind)


def read_label_table(path: Path, scale: Scale, task: str | None, kind: str) -> LabelTable:
    """Read the labels; where they start at 1 and the options at 0, say how to name the options.

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
        # Options that are named by columns cannot be renamed by --options.
        first, last = error.value[0], error.value[-1]
        raise InputError(
            f"{error.problem} If your scale starts at 1, name the columns of the readings "
            f"{kind}_{first} to {kind}_{last}."
        ) from error


def covariates_of(
    table: ReadingTable | ReaderTables, channels: Sequence[str | Path] | None
) -> dict[str, np.ndarray]:
    """Read the columns that channel files ask for beside the readings.

    Raises:
        InputError: A column is missing, or does not hold finite numbers.
        ChannelError: A file does not hold a channel.
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


def fit_calibrator(
    logits: np.ndarray,
    labels: list[str],
    options: tuple[str, ...],
    *,
    covariates: dict[str, np.ndarray] | None = None,
    channels: list[Path] | None = None,
    quiet: bool = False,
    **settings: Any,
) -> "Stack":
    """Fit a calibrator, with a sign of life on stderr.

    Args:
        logits: Logits [n, K] of the labelled texts (nats).
        labels: Their options, by name.
        options: The K options.
        covariates: Covariates of the labelled texts.
        channels: Files of further channels.
        quiet: Whether to show nothing.
        settings: Settings of `Cordial`: `prior`, `inference` and `seed`.

    Raises:
        InputError: Nothing can be learned from these labels.
        ChannelError: A file's model breaks the contract of a channel.
    """
    with working("fitting", quiet), leaving_at_once():
        from cordial_ppl.cordial import Cordial

        further = tuple(map(str, channels or ()))
        return Cordial(options, channels=further, **settings).fit(logits, labels, covariates)
