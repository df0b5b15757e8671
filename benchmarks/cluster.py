"""What a sweep takes on Ray workers of this machine, against one process on one core.

A sweep of 200 cells (two tasks of `embedded.py`, four readers, 25 numbers of labels) runs
in one process on one core and on two workers with a core each, and once more with a worker that is
killed halfway: seconds, multiples of what that many cores would ideally take, and whether the
tables of results are equal.  It needs the extra `ray`.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

import polars as pl
from embedded import load_tasks
from measurement import Line, Timed, list_records

from cordial_ppl.evaluation.sweeps import run_sweep
from cordial_ppl.runtime.progress import Stage

TASKS, METHODS = ("music", "beauty"), ["temperature", "paper", "cordial"]
BUDGETS, DRAWS, WORKERS = range(5, 126, 5), 4, 2


def sweep(engine: str) -> pl.DataFrame:
    """Run the sweep."""
    return run_sweep(load_tasks(TASKS), METHODS, BUDGETS, DRAWS, engine=engine)


def run(draw: int) -> Iterator[Line]:
    """Run the sweep in one process, on workers, and on workers of which one dies."""
    ray = import_module("ray")
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "one.parquet"
        command = [sys.executable, __file__, str(path)]
        one_core = os.environ | {"OMP_NUM_THREADS": "1"}
        # The first run compiles what the others find on disk.
        for _ in range(2):
            done = subprocess.run(command, env=one_core, check=True, capture_output=True, text=True)
        alone = float(done.stdout)
        yield {"run": "one process on one core", "seconds": alone}
        for label, kill in (("workers", False), ("workers, of which one dies", True)):
            quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "error"}
            ray.init(num_cpus=WORKERS, **quiet)
            begun = time.perf_counter()
            with _killing() if kill else nullcontext():
                table = sweep("ray")
            seconds = time.perf_counter() - begun
            ray.shutdown()
            same = table.equals(pl.read_parquet(path))
            times = seconds / (alone / WORKERS)
            yield {"run": label, "seconds": seconds, "times the ideal": times, "same": same}


@contextmanager
def _killing() -> Iterator[None]:
    """Kill a worker, as if its machine were lost, when half of the work is done."""
    reach, killed = Stage.reach, list[int]()

    def told(stage: Stage, done: float, text: str | None = None) -> None:
        reach(stage, done, text)
        for path in Path("/proc").glob("[0-9]*") if 2 * done > stage.total and not killed else ():
            with suppress(FileNotFoundError, ProcessLookupError):
                if not killed and (path / "cmdline").read_bytes().startswith(b"ray::_run"):
                    killed.append(int(path.name))
                    os.kill(killed[0], signal.SIGKILL)

    with patch.object(Stage, "reach", told):
        yield


MEASUREMENTS = (
    Timed("cluster", lambda draw: [()] if find_spec("ray") else [], run, list_records, 1),
)

if __name__ == "__main__":
    start = time.perf_counter()
    sweep("local").write_parquet(sys.argv[1])
    print(time.perf_counter() - start)
