"""Labelled texts of tables: of one task and judge, or of every one of several tables."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from cordial_ppl.errors import InputError, list_names, naming
from cordial_ppl.runtime.progress import doing
from cordial_ppl.tables import LabelledReadings, ReadingTable, list_values, read_labelled


def take_labelled(read: LabelledReadings, channels: Sequence[Any] = ()) -> dict[str, Any]:
    """Take the labelled texts, as arguments of an estimator's ``fit``.

    Args:
        read: The readings of all texts, and the labels.
        channels: Channels whose covariates are taken, or names or files of some.

    Raises:
        InputError: A column is missing, or does not hold finite numbers or the levels of a channel.
        ChannelError: A file does not hold a channel.
    """
    table, labels, rows = read
    return {
        "logits": table.logits[rows],
        "labels": table.scale.decode(labels.labels),
        "covariates": {k: column[rows] for k, column in take_covariates(table, channels).items()},
        "sample_weight": labels.weights,
        "texts": labels.item_ids,
    }


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
    of: str,
    reader: Sequence[str] = (),
    task: Sequence[str] = (),
    **columns: Any,
) -> dict[tuple[str, str], LabelledReadings]:
    """Read the labelled texts of every task and judge that is chosen.

    Args:
        tables: Tables of readings and of labels in turn.
        of: What needs them, for messages.
        reader: The judges to take, as names or "COLUMN=NAME"; by default all.
        task: The tasks to take, likewise; by default all.
        columns: Further arguments of ``read_labelled``.

    Returns:
        What ``read_labelled`` returns, by the name of the task, which is that of the file where no
        column names tasks, and by the judge's, which is empty where none names judges.

    Raises:
        InputError: A table is not as it must be, two hold the same, or none what is chosen.
    """
    if len(tables) % 2:
        raise InputError(f"tables must come in pairs READINGS LABELS; got {len(tables)} tables.")
    result: dict[tuple[str, str], LabelledReadings] = {}
    for readings, labels in zip(tables[::2], tables[1::2], strict=True):
        with doing("reading"):
            for name, by, choice in _list_choices(readings, labels, reader, task, columns):
                key = name or readings.stem, by
                who = " by ".join(filter(None, key))
                if key in result:
                    raise InputError(f"{readings}: {who} already occurs in an earlier table.")
                with naming(who) if name or by else nullcontext():
                    result[key] = read_labelled(readings, labels, **columns | choice).drop_unread()
                    result[key].labels.check_single(of)
    for setting, chosen, part in (("reader", reader, 1), ("task", task, 0)):
        names = {key[part] for key in result}
        if missing := {name for name in chosen if name.partition("=")[2] not in names} - names:
            listed = [name for path in tables[::2] for name in list_values(path, setting)]
            more = f" The tables have {list_names(dict.fromkeys(listed))}." if listed else ""
            raise InputError(f"no table has labelled texts for {setting} {min(missing)!r}.{more}")
    return result


def _list_choices(
    readings: Path,
    labels: Path,
    readers: Sequence[str],
    tasks: Sequence[str],
    columns: Mapping[str, Any],
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """List tasks and judges that are chosen of two tables, and what ``read_labelled`` takes."""
    # A column that is named is that, and no task or judge.
    ids = [name for names in columns.get("id", ()) for name in (names, *names.split(","))]
    rated = [*ids, *filter(None, (columns.get("rating"),))]
    told = [*ids, *columns.get("label", ()), *filter(None, (columns.get("annotator"),))]
    here = list_values(readings, "task", None, tasks, rated)
    there = list_values(labels, "task", None, tasks, told)
    wanted: dict[str, Any] = _choose(here, "task", tasks)
    if len(wanted) > 1 and not there:
        raise InputError(
            f"{labels} has no column 'task', but {readings} has several tasks: "
            f"{', '.join(wanted)}. Add the column, or choose the task to which the labels belong."
        )
    if here and there and not here.keys() & there:
        raise InputError(f"{labels} has no labels for any task in {readings}: {', '.join(here)}.")
    if not here and (not tasks or readings.stem in tasks):
        wanted = {"": None}
    for name, task in wanted.items():
        if not name or not there or name in there:
            judges = list_values(readings, "reader", task, readers, rated)
            for by, reader in _choose(judges or {"": None}, "reader", readers).items():
                # A judge need not have read every text that has a label.
                yield name, by, {"task": task, "reader": reader, "sparse": len(judges) > 1}


def _choose(names: Mapping[str, Any], field: str, chosen: Sequence[str]) -> dict[str, Any]:
    """Take the names that are chosen, as such or as "COLUMN=NAME"; by default all."""
    return {
        name: choice
        for name, choice in names.items()
        if not chosen or {name, choice, f"{field}={name}"} & {*chosen}
    }
