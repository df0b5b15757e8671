"""The texts of a sweep: for each task and reader a pool to draw labels from and texts to score."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from cordial_ppl.data.readings import as_logits
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, SettingNeeded, naming
from cordial_ppl.estimators.subsets import Texts
from cordial_ppl.evaluation.sweep.config import SweepConfig, TaskSource
from cordial_ppl.evaluation.synthetic import benchmark
from cordial_ppl.tables import list_values, match_labels, read_labels, read_readings

SPLIT, DRAW = 0, 1
"""Streams of random numbers: which texts are scored, and which are labelled."""


@dataclass(frozen=True)
class Reading:
    """One reader's readings of one task.

    Attributes:
        task: name of the task.
        reader: name of the reader.
        scale: the options.
        pool: texts that labels are drawn from.
        pool_labels: their labels, 0..K-1.
        report: texts that methods are scored on.
        report_labels: their labels, 0..K-1.
        report_ids: their names.
        pool_ids: names of the texts of the pool.
    """

    task: str
    reader: str
    scale: Scale
    pool: Texts
    pool_labels: Int[np.ndarray, " N"]
    report: Texts
    report_labels: Int[np.ndarray, " m"]
    report_ids: tuple[str, ...]
    pool_ids: tuple[str, ...]


def load_tasks(config: SweepConfig) -> list[Reading]:
    """Load every task and reader of a sweep, and check that the budgets fit their pools.

    Raises:
        FileError: a table cannot be read.
        InputError: a table is not as it must be, a reader is missing, or a budget is larger than a
            pool; the message names the key.
    """
    readings = []
    for name, source in config.tasks.items():
        with naming(f"task.{name}"):
            loaded = list(_load(name, source, config.seed))
        size = len(loaded[0].pool_labels)
        for index, budget in enumerate(config.budgets):
            if budget > size:
                raise InputError(
                    f"budgets[{index}] is {budget}, but task {name!r} has only {size} texts to "
                    f"draw labels from, beside {len(loaded[0].report_labels)} to report on."
                )
        readings.extend(loaded)
    return readings


def draw_subsets(reading: Reading, n: int, draws: int, seed: int) -> Int[np.ndarray, "S n"]:
    """Draw the rows of the pool that are labelled: the first n of a random order for each draw.

    They are the same for every method and for every reader of a task, and smaller subsets are
    parts of larger ones.
    """
    size = len(reading.pool_labels)
    name = int.from_bytes(reading.task.encode(), "little")
    orders = [
        np.random.default_rng([seed, DRAW, draw, name]).permutation(size) for draw in range(draws)
    ]
    return np.stack(orders)[:, :n]


def subset_columns(config: SweepConfig, readings: Sequence[Reading]) -> dict[str, list]:
    """List the texts that a sweep labels and scores, for probabilities that are made elsewhere.

    Args:
        config: the sweep.
        readings: its tasks and readers.

    Returns:
        Columns of a table: ``task`` and ``reader``; ``draw``, None for a text that methods are
        scored on; ``place``, from 1: with n labels a draw has places 1 to n; ``item_id``;
        ``label``.
    """
    rows = []
    for reading in readings:
        drawn = draw_subsets(reading, max(config.budgets), config.draws, config.seed)
        pool, report = zip(reading.pool_ids, reading.pool_labels, strict=True), reading.report_ids
        texts, scored = list(pool), list(zip(report, reading.report_labels, strict=True))
        parts = [*enumerate([texts[row] for row in picked] for picked in drawn), (None, scored)]
        rows += [
            (reading.task, reading.reader, draw, position, item, reading.scale.options[label])
            for draw, part in parts
            for position, (item, label) in enumerate(part, 1)
        ]
    names = ("task", "reader", "draw", "place", "item_id", "label")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def _load(name: str, source: TaskSource, seed: int) -> Iterator[Reading]:
    try:
        for parts in _embedded(source) if source.benchmark else _tables(source, seed):
            reader, scale, texts, labels, items, pool, report = parts
            yield Reading(
                name,
                reader,
                scale,
                texts.take(pool),
                labels[pool],
                texts.take(report),
                labels[report],
                tuple(items[row] for row in report),
                tuple(items[row] for row in pool),
            )
    except SettingNeeded as error:
        # The message is for arguments of a function: here they are keys of a file.
        keys = {"task": "name", "reader": "readers"}
        texts = (
            f"{keys.get(setting, setting)} = "
            + json.dumps([value] if setting == "reader" else value, ensure_ascii=False)
            for setting, value in error.needed
        )
        raise InputError(f"{error.problem} {error.advice}: {', '.join(texts)}.") from error


def _embedded(source: TaskSource) -> Iterator[tuple]:
    """Load the readers of a task of the benchmark, with the rows of pool and report."""
    task = benchmark(source.benchmark or "")
    items = [str(row) for row in range(len(task.labels))]
    pool, report = task.rows("calibration"), task.rows("report")
    for reader in _readers(source, list(task.logits)):
        texts = Texts(as_logits(task.logits[reader]))
        yield reader, Scale(task.options), texts, task.labels, items, pool, report


def _tables(source: TaskSource, seed: int) -> Iterator[tuple]:
    """Load the readers of a task in tables, with the rows of pool and report."""
    assert source.readings and source.labels
    names = list(list_values(source.readings, "reader", source.task))
    if source.readers and not names:
        raise InputError("readers: the table of readings has no column reader; leave the key out.")
    settings = {name: getattr(source, name) for name in ("label", "annotator", "annotators")}
    for reader in _readers(source, names) if names else ("reader",):
        chosen = reader if names else None
        table = read_readings(
            source.readings, options=source.options, reader=chosen, task=source.task, id=source.id
        )
        labels = read_labels(
            source.labels,
            table.scale,
            task=source.task,
            id=source.id,
            round=source.round,
            **settings,
        )
        labels.check_single("a sweep")
        with naming(f"judge {reader!r}"):
            labels, rows = match_labels(table, labels, strict=True)
        texts = Texts(table.logits, table.covariates(source.covariates)).take(rows)
        if source.report >= len(rows):
            raise InputError(
                f"report is {source.report}, but there are {len(rows)} labelled texts in all; it "
                "must leave some to draw labels from."
            )
        order = np.random.default_rng([seed, SPLIT]).permutation(len(rows))
        report, pool = np.split(order, [source.report])
        yield reader, table.scale, texts, labels.labels, labels.item_ids, pool, report


def _readers(source: TaskSource, names: list[str]) -> tuple[str, ...]:
    for index, reader in enumerate(source.readers or ()):
        if reader not in names:
            raise InputError(f"readers[{index}] must be one of {', '.join(names)}; got {reader!r}.")
    return source.readers or tuple(names)
