"""What is finished of the paper's experiments: work goes on from here, and products are made of it.

Two folders.  `results` holds scores of fits and intervals of differences, some hundred kB in all,
to be committed.  `parts` holds the losses of single texts that intervals are made of, a file a fit,
and is needed only until a cell is finished.  Files of both appear whole or not at all: a run that
is killed loses the fit in progress.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from comparison import Outcome, Results, measure_intervals
from jaxtyping import Float
from product import Record
from stated_classes import LABELS, SHOWN
from styles import OURS

from cordial_ppl.estimators.estimator import Estimator
from cordial_ppl.evaluation.sweeps import fit_jobs, list_jobs
from cordial_ppl.evaluation.tasks import Task
from cordial_ppl.runtime.outputs import replacing
from cordial_ppl.runtime.progress import doing
from cordial_ppl.scores import Interval
from cordial_ppl.tables import write_table

DIGITS = {"log_loss": 5, "rps": 4, "accuracy": 5, "qwk": 4, "mae": 5}
DIGITS |= {"class_weighted_kl": 4, "reversed": 0}
"""Scores that are kept, and their decimals: far finer than their standard errors."""

LISTS = dict.fromkeys((*DIGITS, "given_stated"), pl.List(pl.Float64))
SCHEMA = {"n": pl.Int32, "method": pl.String, "key": pl.String, "seconds": pl.Float64}
SCHEMA |= dict.fromkeys(Interval._fields, pl.Float64) | LISTS
"""Columns of a task and reader, one row a method and number of labels: `key` names all that its
fits are made from, `seconds` are CPU seconds of a fit, of all methods of the cell together over
their number; then the interval of its log loss minus ours, and lists of one score a draw."""


@dataclass(frozen=True)
class Ledger:
    """Ledger of finished work in two folders; engine and device are those of a sweep."""

    results: Path
    parts: Path
    engine: str = "local"
    device: str = "auto"

    def sweep(
        self,
        tasks: Iterable[Task],
        methods: Mapping[str, Estimator[Any]],
        budgets: Sequence[int],
        draws: int,
    ) -> Results:
        """Fit methods, ours among them, where that is not done, and return the results."""
        cells, tasks = {}, [*tasks]
        for task in tasks:
            for n in budgets:
                rows = self._finish(task, methods, n, draws)
                size = task.scale.size
                cells[task.name, task.reader, n] = {r["method"]: _outcome(r, size) for r in rows}
        return Results(cells, {(task.name, task.reader): task for task in tasks})

    def rows(self, name: str, cell: Sequence[Any], make: Callable[..., Iterable[Record]]) -> Any:
        """Return the rows of a cell of another experiment, `make(*cell)` if they are not kept."""
        path, key = self.results / f"{name}.jsonl", json.dumps(cell)
        lines = _read_lines(path) if path.exists() else []
        kept = {json.dumps(line["cell"]): line for line in lines}
        if key not in kept:
            start = time.process_time()
            rows = [*make(*cell)]
            line = {"cell": cell, "rows": rows, "seconds": time.process_time() - start}
            kept[key] = json.loads(json.dumps(line))
            with replacing(path) as temporary:
                lines = sorted(kept.values(), key=lambda line: line["cell"])
                temporary.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
        return kept[key]["rows"]

    def arrays(
        self, name: str, make: Callable[[], Mapping[str, np.ndarray]]
    ) -> dict[str, np.ndarray]:
        """Return the losses of single texts by one draw of labels, made where they are not kept."""
        path = self.parts / f"{name}.npz"
        if not path.exists():
            self.parts.mkdir(parents=True, exist_ok=True)
            made: dict[str, Any] = {k: v.astype(np.float32) for k, v in make().items()}
            with replacing(path) as temporary, temporary.open("wb") as file:
                np.savez(file, **made)
        with np.load(path) as archive:
            return dict(archive)

    def seconds(self) -> float:
        """Return the CPU seconds that all of it took."""
        tables = [pl.read_parquet(path) for path in sorted(self.results.glob("*.parquet"))]
        lines = [x for p in sorted(self.results.glob("*.jsonl")) for x in _read_lines(p)]
        fits = sum((t["seconds"] * t["log_loss"].list.len()).sum() for t in tables)
        return float(fits + sum(line["seconds"] for line in lines))

    def _finish(
        self, task: Task, methods: Mapping[str, Estimator[Any]], n: int, draws: int
    ) -> list[Record]:
        """Return the rows of a cell, in order of methods; fit those whose row is missing."""
        path, folder = self.results / f"{task.name}-{task.reader}.parquet", self.parts
        jobs, names = list_jobs([task], methods, [n], draws, folder), dict[str, str]()
        for job in jobs:
            names[job.method] = names.get(job.method, "") + job.path.stem
        keys = {m: hashlib.sha256(name.encode()).hexdigest()[:16] for m, name in names.items()}
        kept = pl.read_parquet(path) if path.exists() else pl.DataFrame(schema=SCHEMA)
        rows = {row["method"]: row for row in kept.filter(n=n).to_dicts()}
        missing = [m for m in methods if rows.get(m, {}).get("key") != keys[m]]
        if OURS in missing:  # All that is there was compared with another.
            rows, missing = {}, [*methods]
        if missing:
            chosen = [job for job in jobs if job.method == OURS or job.method in missing]
            start = time.process_time()
            with doing(f"{task.name}, {task.reader}, {n} labels", plain=True):
                fit_jobs(chosen, self.engine, self.device)
            seconds = (time.process_time() - start) / len(chosen)
            for row in summarise(pl.read_parquet([job.path for job in chosen])):
                if (method := row["method"]) in missing:
                    rows[method] = row | {"key": keys[method], "seconds": round(seconds, 4)}
            table = pl.DataFrame([*rows.values()], SCHEMA)
            table = pl.concat([kept.filter(pl.col("n") != n), table]).sort("n", "method")
            write_table(path, table.lazy())
            rows = {row["method"]: row for row in table.filter(n=n).to_dicts()}
        return [rows[method] for method in methods]


def summarise(parts: pl.DataFrame) -> Iterator[Record]:
    """Summarise the parts of a cell: a row for each method, without its key and seconds."""
    fits = parts.sort("draw").partition_by("method", as_dict=True, maintain_order=True)
    losses = {str(method): _stack(rows["losses"]) for (method,), rows in fits.items()}
    intervals = measure_intervals(losses, OURS)
    for (method,), rows in fits.items():
        row: Record = {"n": rows["n"][0], "method": method}
        if ends := intervals.get(str(method)):
            row |= {name: round(value, 5) for name, value in ends._asdict().items()}
        row |= {score: rows[score].round(digits).to_list() for score, digits in DIGITS.items()}
        if rows["n"][0] == LABELS and method in (OURS, *SHOWN):
            row["given_stated"] = _stack(rows["given_stated"]).round(4).ravel().tolist()
        yield row


def _read_lines(path: Path) -> list[Any]:
    return [*map(json.loads, path.read_text("utf-8").splitlines())]


def _stack(lists: pl.Series) -> Float[np.ndarray, "S m"]:
    """Return lists of one length as rows; NaN for those that are missing."""
    width: Any = lists.list.len().max() or 1
    return np.array([np.full(width, np.nan) if row is None else row for row in lists], float)


def _outcome(row: Record, size: int) -> Outcome:
    scores = {name: np.array(row[name], float) for name in DIGITS}
    shape = len(scores["log_loss"]), size, size
    given, kept = np.full(shape, np.nan), row["given_stated"] or ()
    if len(kept) == given.size:
        given = np.array(kept, float).reshape(shape)
    ends = [row[name] for name in Interval._fields]
    return Outcome(scores, given, None if ends[0] is None else Interval(*ends))
