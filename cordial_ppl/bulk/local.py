"""A large table on this machine: read, predicted and written in batches, on all cores."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from cordial_ppl.bulk.predictor import ROWS, predict_columns
from cordial_ppl.compilation import workers
from cordial_ppl.cordial.stack import Stack
from cordial_ppl.readings import Unread, warn_of_unread
from cordial_ppl.tables import open_readings, read_provenance, write_table
from cordial_ppl.tables.columns import Layout, finite
from cordial_ppl.tables.frame import Columns
from cordial_ppl.tables.provenance import LASTING, Provenance
from cordial_ppl.tables.rows import name_items, read_items

CHECKED = 1 << 18
"""Rows that are checked at a time; a message counts the faults among these."""


@dataclass(frozen=True)
class Survey:
    """What a table of readings holds, of which everything has been checked.

    Attributes:
        columns: The rows that count.
        layout: Where their readings are.
        texts: How many texts there are.
        provenance: How the readings were made.
    """

    columns: Columns
    layout: Layout
    texts: int
    provenance: Provenance


def survey(
    path: Path,
    options: Any,
    *,
    reader: str | None = None,
    task: str | None = None,
    covariates: Sequence[str] = (),
) -> Survey:
    """Check all of a table, as `read_readings` does, and warn once of options without a reading.

    Args:
        path: The table.
        options: The options in the scale's order.
        reader: The reader to take, where the table holds several.
        task: The task to take, where the table holds several.
        covariates: Columns that must be finite numbers.

    Returns:
        What the table holds.

    Raises:
        FileError: A file cannot be read.
        InputError: As `read_readings` raises, or a covariate is missing or not finite.
        SettingNeeded: The table holds several readers or tasks.
    """
    columns, layout = open_readings(path, options=options, reader=reader, task=task)
    for name in covariates:
        finite(columns.header, name)
    hashes: list[pl.Series] = []
    unread: list[Unread] = []
    for batch in columns.batches(CHECKED, ["item_id", *layout.readings, *covariates]):
        # Eight bytes a text; two ids may have one hash, so `read_items` has the last word.
        hashes.append(name_items(batch).hash())
        layout.logits(batch, unread.append)
        for name in covariates:
            finite(batch, name)
    ids = pl.concat(hashes)
    if ids.n_unique() < len(ids):
        read_items(columns)
    if unread:
        cells, rows = sum(each.options for each in unread), sum(each.rows for each in unread)
        warn_of_unread(Unread(cells, rows, len(ids), unread[0].first))
    made = [name for field in LASTING if (name := f"reader_{field}") in columns.schema]
    values = {name: columns.collect(pl.col(name).unique(maintain_order=True)) for name in made}
    cells = {name: column.to_series().to_list() for name, column in values.items()}
    return Survey(columns, layout, len(ids), read_provenance(cells))


def predict_table(
    calibrator: Stack,
    found: Survey,
    output: Path,
    show: Callable[[float, str], None] | None = None,
    *,
    jobs: int | None = None,
) -> int:
    """Predict a table that need not fit in memory.

    Args:
        calibrator: The fitted calibrator.
        found: The readings.
        output: The table to write, in the order of the readings.
        show: Called with the share of the work that is done, and what it is.
        jobs: How many batches are predicted at a time; by default one a core.

    Returns:
        The number of texts predicted.

    Raises:
        FileError: A file cannot be read or written; nothing is left behind.
    """
    predict = partial(predict_columns, calibrator, layout=found.layout, tell=lambda _: None)
    schema = predict(found.columns.header).schema
    jobs = jobs or workers(-(-found.texts // ROWS))
    done = 0

    def predictions(*_: Any) -> Iterator[pl.DataFrame]:
        nonlocal done
        for part in _in_order(predict, found.columns.batches(ROWS), jobs):
            yield part
            done += len(part)
            if show:
                show(done / found.texts, "calibrating")

    write_table(output, register_io_source(predictions, schema=schema))
    return done


def _in_order[A, B](function: Callable[[A], B], items: Iterable[A], jobs: int) -> Iterator[B]:
    """Map in threads, as `map` would, but few items ahead of what is asked for."""
    running: deque[Future[B]] = deque()
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for item in items:
            running.append(pool.submit(function, item))
            if len(running) > jobs:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
