"""The files of a sweep: one for each cell, one long table, and the configuration."""

import json
from collections.abc import Iterator, Mapping
from functools import cached_property, reduce
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from cordial_ppl.errors import FileError, InputError
from cordial_ppl.sweep.cell import Cell, join, read_cell

CONFIG, TABLE, SUBSETS, CELLS = "sweep.json", "results.parquet", "subsets.parquet", "cells"
FITTED, EXTERNAL = "", ".external"
"""The parts of a cell: methods that were fitted, and external ones, which are scored again."""
LONGEST = 255
"""Bytes that the name of a folder may have."""
MOST = 10**9
"""More labels than any task has."""

COLUMNS = ("task", "reader", "method", "n", "draw", "metric", "value", "reason")


class Results:
    """The results of a sweep.

    Args:
        config: the configuration that made them, as `sweep.json` has it.
        cells: by task, reader and number of labels, in the order of the configuration.
    """

    def __init__(self, config: Mapping[str, Any], cells: Mapping[tuple[str, str, int], Cell]):
        """Keep both."""
        self.config, self.cells = config, cells

    @classmethod
    def load(cls, folder: str | Path) -> "Results":
        """Read what a finished or interrupted sweep left.

        Raises:
            FileError: the folder holds no sweep, no cell is done yet, or a file is damaged.
        """
        folder = Path(folder)
        try:
            config = json.loads((folder / CONFIG).read_text("utf-8"))
            keys = [(str(c["task"]), str(c["reader"]), int(c["n"])) for c in config["cells"]]
            names = tuple(str(method["name"]) for method in config["methods"])
            kinds = {"probabilities" in method for method in config["methods"]}
            if not all(0 <= n < MOST for *_, n in keys):
                raise ValueError("a number of labels is out of range")
        except OSError as error:
            raise FileError(f"{folder} holds no sweep: {error.strerror or error}.") from error
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise FileError(f"{folder / CONFIG} is damaged: {error!r:.200}.") from error
        parts = [part for part, kind in ((FITTED, False), (EXTERNAL, True)) if kind in kinds]
        paths = {key: [cell_path(folder, *key, part) for part in parts] for key in keys}
        found = {
            key: reduce(join, map(read_cell, kept))
            for key, kept in paths.items()
            if all(path.exists() for path in kept)
        }
        # A run that stopped early may have left cells of the methods of an earlier one.
        cells = {key: cell for key, cell in found.items() if cell.methods == names}
        if not cells:
            raise FileError(f"{folder} holds no finished cell yet: run the sweep first.")
        return cls(config, cells)

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, in the order of tables."""
        return next(iter(self.cells.values())).methods

    @cached_property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Tasks with their readers, in the order of the configuration."""
        return tuple(dict.fromkeys((task, reader) for task, reader, _ in self.cells))

    def budgets(self, task: str, reader: str) -> tuple[int, ...]:
        """Numbers of labels that a task and reader have results for."""
        return tuple(n for t, r, n in self.cells if (t, r) == (task, reader))

    def score(self, task: str, reader: str, n: int, method: str, metric: str) -> np.ndarray:
        """A score of every draw, NaN where the fit failed.

        Raises:
            InputError: there is no such cell, method or metric.
        """
        try:
            cell = self.cells[task, reader, n]
            return cell.scores[metric][cell.methods.index(method)]
        except (KeyError, ValueError) as error:
            raise InputError(
                f"the sweep has no {metric} of {method!r} for {task!r}, {reader!r} and {n} labels."
            ) from error

    def columns(self) -> dict[str, list]:
        """The long table: one row a score of a fit, and one a fit that failed, with the reason."""
        rows = [row for cell in self.cells.values() for row in _rows(cell)]
        return dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))


def cell_path(folder: Path, task: str, reader: str, n: int, part: str) -> Path:
    """Where a part of a cell is kept."""
    return folder / CELLS / _folder_name(task) / _folder_name(reader) / f"{n}{part}.cell"


def _folder_name(name: str) -> str:
    """A name that can be a folder's: "." and ".." mean others."""
    # JSON can write half a pair of surrogates, which no file name holds.
    quoted = quote(name, safe="", errors="replace")
    if len(quoted) > LONGEST:
        raise InputError(
            f"a sweep keeps results in folders named after tasks and readers; {name[:40]!r}... is "
            f"too long for that: rename it."
        )
    return quoted if quoted.strip(".") else quoted.replace(".", "%2E") or "%"


def _rows(cell: Cell) -> Iterator[tuple]:
    reasons = cell.reasons
    for m, method in enumerate(cell.methods):
        for draw in range(cell.losses.shape[1]):
            place = cell.task, cell.reader, method, cell.n, draw
            if (method, draw) in reasons:
                yield *place, "failed", None, reasons[method, draw]
                continue
            for metric, values in cell.scores.items():
                if np.isfinite(values[m, draw]):
                    yield *place, metric, float(values[m, draw]), None
