"""From two tables to a fitted judge, and from a judge to what there is to say of it."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cordial_ppl.cli.compilation import keep_compiled
from cordial_ppl.cli.messages import leaving_at_once, working
from cordial_ppl.cli.options import Inference
from cordial_ppl.errors import CordialWarning
from cordial_ppl.formats import ReadingTable, match_labels, read_labels, read_readings

if TYPE_CHECKING:
    from cordial_ppl.cordial.stack import Stack
    from cordial_ppl.summary import Summary


def read_tables(
    readings: Path,
    labels: Path,
    *,
    options: tuple[str, ...] | None,
    reader: str | None,
    task: str | None,
) -> tuple[ReadingTable, np.ndarray, list[str]]:
    """Read both tables and find the reading of each label.

    Args:
        readings: Table of readings.
        labels: Table of labels.
        options: The options in the scale's order; None as in the readings.
        reader: The reader to take.
        task: The task to take.

    Returns:
        The readings of all texts, the logits [n, K] (nats) of the n labelled ones, and the labels
        as names of options.

    Raises:
        InputError: A table is not as it must be, or they do not fit together.
    """
    table = read_readings(readings, options=options, reader=reader, task=task)
    found = read_labels(labels, table.scale, task=task)
    if "weight" in found.extras:
        warnings.warn(
            f"{labels}: the column 'weight' is not used yet; every label counts alike.",
            CordialWarning,
            stacklevel=2,
        )
    logits = table.logits[match_labels(table, found)]
    return table, logits, table.scale.decode(found.labels)


def fit_judge(
    logits: np.ndarray,
    labels: list[str],
    options: tuple[str, ...],
    *,
    inference: Inference = Inference.DEFAULT,
    seed: int = 0,
    channels: list[Path] | None = None,
    quiet: bool = False,
) -> "Stack":
    """Fit a judge, with a sign of life on stderr.

    Args:
        logits: Logits [n, K] of the labelled texts (nats).
        labels: Their options, by name.
        options: The K options.
        inference: How posteriors are found.
        seed: Seed of everything random.
        channels: Files of further channels.
        quiet: Whether to show nothing.

    Returns:
        The judge.

    Raises:
        InputError: The labels are none that can be learned from.
        ChannelError: A file's model breaks the contract of a channel.
    """
    with working("fitting", quiet), leaving_at_once():
        from cordial_ppl.cordial import Cordial

        keep_compiled()
        further = tuple(map(str, channels or ()))
        judge = Cordial(options, inference=inference.value, seed=seed, channels=further)
        return judge.fit(logits, labels)


def summarise(judge: "Stack") -> "Summary":
    """Put a fitted judge into plain words."""
    from cordial_ppl.summary import describe

    return describe(judge.posteriors_, judge.weights_, judge.expected_, judge.scale_)
