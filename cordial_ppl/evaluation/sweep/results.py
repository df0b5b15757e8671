"""Results of a sweep: outcomes of each method's fits, their files, and one long table."""

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.errors import FileError, InputError
from cordial_ppl.runtime import storage

CONFIG, TABLE, SUBSETS, CELLS = "sweep.json", "results.parquet", "subsets.parquet", "cells"
KIND, ENDING = "sweep cell", ".cell"
ABSENT = " is absent"
"""Ends the name of an array that marks where another has no number."""

LONGEST = 255 - len(ENDING)
"""Bytes that the name of a folder may have, and of a file without its ending."""

MOST = 10**9
"""More labels than any task has."""

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
        fingerprint: what it was made from; a later run compares it with what it would make.
    """

    losses: Float[np.ndarray, "_S _m"]
    scores: dict[str, Float[np.ndarray, " _S"]]
    given_stated: Float[np.ndarray, "_S _K _K"]
    empirical: Float[np.ndarray, "_K _K"]
    stated: Int[np.ndarray, " _K"]
    reasons: tuple[str, ...]
    fingerprint: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError where the parts do not fit together."""
        super().__post_init__()
        if len(self.reasons) != len(self.losses) or "log_loss" not in self.scores:
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


def outcome_path(folder: Path, key: Key, method: str) -> Path:
    """Return the path of a method's outcome."""
    task, reader, n = key
    cell = folder / CELLS / _file_name(task) / _file_name(reader) / str(n)
    return cell / f"{_file_name(method)}{ENDING}"


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
        folder = Path(folder)
        try:
            config = json.loads((folder / CONFIG).read_text("utf-8"))
            keys = [(str(c["task"]), str(c["reader"]), int(c["n"])) for c in config["cells"]]
            methods = [str(method["name"]) for method in config["methods"]]
            if not all(0 <= n < MOST for *_, n in keys):
                raise ValueError("a number of labels is out of range")
            if not all(isinstance(name, str) for c in config["cells"] for name in c["options"]):
                raise ValueError("an option is no text")
        except OSError as error:
            raise FileError(f"{folder} holds no sweep: {error.strerror or error}.") from error
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise FileError(f"{folder / CONFIG} is damaged: {error!r:.200}.") from error
        paths = {key: {m: outcome_path(folder, key, m) for m in methods} for key in keys}
        cells = {
            key: {method: read_outcome(path) for method, path in files.items()}
            for key, files in paths.items()
            if methods and all(path.exists() for path in files.values())
        }
        if not cells:
            raise FileError(
                f"{folder} holds no finished results of this version: run the sweep first."
            )
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


def _file_name(name: str) -> str:
    """Quote a name as a file's: "." and ".." mean others."""
    # JSON can write half a pair of surrogates, which no file name holds.
    quoted = quote(name, safe="", errors="replace")
    if len(quoted) > LONGEST:
        raise InputError(
            f"a sweep keeps results in files named after tasks, readers and methods; "
            f"{name[:40]!r}... is too long for that: rename it."
        )
    return quoted if quoted.strip(".") else quoted.replace(".", "%2E") or "%"
