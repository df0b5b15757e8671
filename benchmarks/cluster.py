"""What a sweep takes on Ray workers of this machine, against one process on one core.

A sweep of 200 cells (two tasks of `embedded.py`, four readers, 25 numbers of labels) runs
in one process on one core and on workers with a core each, and once more with a worker that is
killed halfway.  Prints the times, as multiples of what that many cores would ideally take, and
whether the tables of results are equal; writes JSON.  Exit status 1 if they are not.

    pip install -e ".[ray]"
    python benchmarks/cluster.py --workers 2
    python benchmarks/cluster.py --quick
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib import import_module
from pathlib import Path
from unittest.mock import patch

import polars as pl
from embedded import load_tasks

from cordial_ppl.evaluation.sweeps import run_sweep
from cordial_ppl.runtime.progress import Stage

TASKS = ("music", "beauty")
METHODS = ["temperature", "paper", "cordial"]
LARGEST = 125


def main() -> None:
    """Run the sweep in one process, on workers, and on workers of which one dies."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small run, to see that it works")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--out", type=Path, default=Path("cluster.json"))
    parser.add_argument("--alone", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    budgets = range(5, LARGEST + 1, 60 if args.quick else 5)

    def sweep(engine: str) -> pl.DataFrame:
        return run_sweep(load_tasks(TASKS), METHODS, budgets, args.draws, engine=engine)

    if args.alone:
        start = time.perf_counter()
        sweep("local").write_parquet(args.alone)
        print(time.perf_counter() - start)
        return
    ray = import_module("ray")
    figures = {"cells": 2 * 4 * len(budgets), "workers": args.workers}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, __file__, "--alone", str(folder / "one.parquet"), *sys.argv[1:]]
        one_core = os.environ | {"OMP_NUM_THREADS": "1"}
        # The first run compiles what the others find on disk.
        for _ in range(2):
            done = subprocess.run(command, env=one_core, check=True, capture_output=True, text=True)
        figures["one process"] = float(done.stdout)
        ideal = figures["one process"] / args.workers
        print(f"{figures['cells']} cells; one process on one core {figures['one process']:.0f} s")
        for label, kill in (("workers", False), ("a worker dies", True)):
            start = time.perf_counter()
            quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "error"}
            ray.init(num_cpus=args.workers, **quiet)
            begun = time.perf_counter()
            with _killing() if kill else nullcontext():
                table = sweep("ray")
            seconds = time.perf_counter() - begun
            ray.shutdown()
            same = table.equals(pl.read_parquet(folder / "one.parquet"))
            figures[label] = {"seconds": seconds, "start": begun - start, "same": same}
            print(
                f"{args.workers} {label}: {seconds:.0f} s, {seconds / ideal:.2f} times the ideal, "
                f"after {begun - start:.1f} s to start Ray; same results: {same}"
            )
    args.out.write_text(json.dumps(figures, indent=1), "utf-8")
    sys.exit(not all(each["same"] for each in figures.values() if isinstance(each, dict)))


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


if __name__ == "__main__":
    main()
