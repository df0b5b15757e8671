"""Results of a sweep: outcomes of each method's fits, their files, and one long table."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from jaxtyping import Float, Int
from msgspec import Meta, Struct

from cordial_ppl.errors import FileError, as_path
from cordial_ppl.runtime import storage

CONFIG, TABLE, SUBSETS, CELLS = "sweep.json", "results.parquet", "subsets.parquet", "cells"
KIND, ENDING = "sweep cell", ".cell"
ABSENT = " is absent"
"""Ends the name of an array that marks where another has no number."""

COLUMNS = ("task", "reader", "method", "n", "draw", "metric", "value", "reason")

Key = tuple[str, str, int]
"""Task, reader and number of labels."""


class Outcome(storage.Record):
    """Results of one method on S subsets of n labels; NaN where a fit failed.

    Attributes:
        losses: log loss of each report text, nats, shape ``[S, m]``.
        scores: one value a fit by name, shape ``[S]``.
        given_stated: mean prediction for each class that the reader states, ``[S, K, K]``.
        empirical: label histogram of each class that the reader states, ``[K, K]``.
        stated: how many report texts the reader states each class for, ``[K]``.
        reasons: why each fit failed; empty for one that did not.
    """

    losses: Float[np.ndarray, "_S _m"]
    scores: dict[str, Float[np.ndarray, " _S"]]
    given_stated: Float[np.ndarray, "_S _K _K"]
    empirical: Float[np.ndarray, "_K _K"]
    stated: Int[np.ndarray, " _K"]
    reasons: tuple[str, ...]

    def __post_init__(self) -> None:
        """Raise ValueError where the parts do not fit together."""
        super().__post_init__()
        counts = {len(self.losses), len(self.reasons), *map(len, self.scores.values())}
        if len(counts) > 1 or "log_loss" not in self.scores:
            raise ValueError("its scores do not match its losses")


Cell = Mapping[str, Outcome]
"""What a task, reader and number of labels gave, by method."""


def write_outcome(path: Path, outcome: Outcome) -> None:
    """Write an outcome to a file of plain data, whole or not at all."""
    meta, arrays = storage.pack(outcome)
    # The file holds finite numbers only.
    gaps = {f"{name}{ABSENT}": ~np.isfinite(values) for name, values in arrays.items()}
    filled = {k: np.nan_to_num(v, posinf=0.0, neginf=0.0) for k, v in arrays.items()}
    storage.write(path, KIND, meta, filled | {k: gap for k, gap in gaps.items() if gap.any()})


def read_outcome(path: Path) -> Outcome:
    """Read what `write_outcome` wrote.

    Raises:
        FileError: the file is damaged or is not of a sweep.
    """
    meta, arrays = storage.read(path, KIND)
    with storage.blaming(path):
        for name in [name for name in arrays if name.endswith(ABSENT)]:
            arrays[name.removesuffix(ABSENT)][arrays.pop(name)] = np.nan
        return storage.unpack(Outcome, meta, arrays)


class _Method(Struct):
    name: str


class _Cell(Struct):
    task: str
    reader: str
    n: Annotated[int, Meta(ge=0, le=10**9)]
    options: list[str]
    files: list[Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]]


class _Sweep(Struct):
    methods: list[_Method]
    cells: list[_Cell]


class Results:
    """The results of a sweep.

    Args:
        config: the configuration that made them, as `sweep.json` has it.
        cells: the methods' outcomes by task, reader and number of labels, in the order of the
            configuration.
    """

    def __init__(self, config: Mapping[str, Any], cells: Mapping[Key, Cell]):
        """Keep both."""
        self.config, self.cells = config, cells

    @classmethod
    def load(cls, folder: str | Path) -> "Results":
        """Read what a finished or interrupted sweep left.

        Raises:
            FileError: the folder holds no sweep, no cell is done yet, or a file is damaged.
        """
        folder = as_path(folder)
        try:
            config = msgspec.json.decode((folder / CONFIG).read_bytes())
            sweep = msgspec.convert(config, _Sweep)
            names = [method.name for method in sweep.methods]
            files = [dict(zip(names, cell.files, strict=True)) for cell in sweep.cells]
        except OSError as error:
            raise FileError(f"{folder} holds no sweep: {error.strerror or error}.") from error
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            reason = f"is damaged, or of another version: {error!s:.200}"
            raise FileError(f"{folder / CONFIG} {reason}.") from error
        cells = {}
        for cell, digests in zip(sweep.cells, files, strict=True):
            paths = {name: folder / CELLS / f"{k}{ENDING}" for name, k in digests.items()}
            if paths and all(path.exists() for path in paths.values()):
                outcomes = {name: read_outcome(path) for name, path in paths.items()}
                cells[cell.task, cell.reader, cell.n] = outcomes
        if not cells:
            raise FileError(f"{folder} holds no finished results: run the sweep first.")
        return cls(config, cells)

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Return the names of the methods, in the order of tables."""
        return tuple(next(iter(self.cells.values())))

    @cached_property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return tasks with their readers, in the order of the configuration."""
        return tuple(dict.fromkeys((task, reader) for task, reader, _ in self.cells))

    @cached_property
    def options(self) -> dict[tuple[str, str], list[str]]:
        """Return the names of the options, by task and reader."""
        return {(c["task"], c["reader"]): c["options"] for c in self.config["cells"]}

    def budgets(self, task: str, reader: str) -> tuple[int, ...]:
        """Return the numbers of labels that a task and reader have results for, ascending."""
        return tuple(sorted(n for t, r, n in self.cells if (t, r) == (task, reader)))

    def columns(self) -> dict[str, list]:
        """Return the long table: a row a score of a fit, and one a failed fit, with the reason."""
        return dict(zip(COLUMNS, map(list, zip(*self._rows(), strict=True)), strict=True))

    def _rows(self) -> Iterator[tuple]:
        for (task, reader, n), cell in self.cells.items():
            for method, outcome in cell.items():
                for draw, reason in enumerate(outcome.reasons):
                    fit = task, reader, method, n, draw
                    if reason:
                        yield *fit, "failed", None, reason
                        continue
                    for metric, values in outcome.scores.items():
                        if np.isfinite(values[draw]):
                            yield *fit, metric, float(values[draw]), None
