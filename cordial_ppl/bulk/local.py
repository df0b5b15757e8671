"""A large table on this machine: read, predicted and written block by block, on all cores."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from cordial_ppl.bulk.predictor import BatchPredictor
from cordial_ppl.bulk.texts import ROWS
from cordial_ppl.compilation import workers
from cordial_ppl.cordial.stack import Stack
from cordial_ppl.tables import writing
from cordial_ppl.tables.blocks import BlockTable
from cordial_ppl.tables.layout import keep
from cordial_ppl.tables.survey import Survey


def predict_table(
    judge: Stack,
    table: BlockTable,
    survey: Survey,
    output: Path,
    show: Callable[[float, str], None] | None = None,
    *,
    rows: range | None = None,
    jobs: int | None = None,
) -> int:
    """Predict a table that need not fit the memory.

    Args:
        judge: The fitted judge.
        table: The readings.
        survey: What they are.
        output: The table to write, in the order of the readings.
        show: Told how much of the work is done, from 0 to 1, and what it is.
        rows: The rows of the table to predict; by default all.
        jobs: How many batches are predicted at a time; by default one a core.

    Returns:
        The number of texts predicted.

    Raises:
        FileError: A file cannot be read or written; nothing is left behind.
    """
    predictor = BatchPredictor(judge, replace(survey.layout, chosen={}))
    kept = (keep(block, survey.layout.chosen).table for block in table.blocks(rows=rows))
    jobs = jobs or workers(-(-survey.texts // ROWS))
    done = 0
    with writing(output, predictor.schema(table.schema)) as write:
        for part in _in_order(predictor, _even(kept, ROWS), jobs):
            write(part)
            done += len(part)
            if show:
                show(done / survey.texts, "calibrating")
    return done


def _even(tables: Iterable[pa.Table], size: int) -> Iterator[pa.Table]:
    """The same rows in tables of one size, but for the last."""
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(map(len, waiting)) >= size:
            rows = pa.concat_tables(waiting)
            whole = len(rows) - len(rows) % size
            yield from (rows.slice(start, size) for start in range(0, whole, size))
            waiting = [rows.slice(whole)]
    if sum(map(len, waiting)):
        yield pa.concat_tables(waiting)


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
