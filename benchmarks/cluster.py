"""What a sweep takes on Ray workers of this machine, against one process on one core.

A sweep of 200 cells (two tasks of the built-in benchmark, four readers, 25 numbers of labels) runs
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
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import polars as pl

from cordial_ppl.evaluation.sweep import SweepConfig, parse_config, run_sweep
from cordial_ppl.evaluation.sweep.results import TABLE
from cordial_ppl.runtime.progress import watching

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
    config = make_config(args.draws, args.quick)
    if args.alone:
        start = time.perf_counter()
        run_sweep(config, args.alone)
        print(time.perf_counter() - start)
        return
    ray = import_module("ray")
    figures = {"cells": 2 * 4 * len(config.budgets), "workers": args.workers}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, __file__, "--alone", str(folder / "one"), *sys.argv[1:]]
        one_core = os.environ | {"OMP_NUM_THREADS": "1"}
        # The first run compiles what the others find on disk.
        for _ in range(2):
            shutil.rmtree(folder / "one", ignore_errors=True)
            done = subprocess.run(command, env=one_core, check=True, capture_output=True, text=True)
        figures["one process"] = float(done.stdout)
        ideal = figures["one process"] / args.workers
        print(f"{figures['cells']} cells; one process on one core {figures['one process']:.0f} s")
        for label, kill in (("workers", False), ("a worker dies", True)):
            start = time.perf_counter()
            quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "error"}
            ray.init(num_cpus=args.workers, **quiet)
            begun = time.perf_counter()
            with watching(_Killer(kill)):
                run_sweep(config, folder / label, ray=True)
            seconds = time.perf_counter() - begun
            ray.shutdown()
            same = _table(folder / label).equals(_table(folder / "one"))
            figures[label] = {"seconds": seconds, "start": begun - start, "same": same}
            print(
                f"{args.workers} {label}: {seconds:.0f} s, {seconds / ideal:.2f} times the ideal, "
                f"after {begun - start:.1f} s to start Ray; same results: {same}"
            )
    args.out.write_text(json.dumps(figures, indent=1), "utf-8")
    sys.exit(not all(each["same"] for each in figures.values() if isinstance(each, dict)))


def make_config(draws: int, quick: bool) -> SweepConfig:
    """The sweep."""
    budgets = list(range(5, LARGEST + 1, 60 if quick else 5))
    tasks = {name: {"benchmark": name} for name in TASKS}
    content = {"budgets": budgets, "draws": draws, "methods": METHODS, "task": tasks}
    return parse_config(content, Path())


class _Killer:
    """Progress that kills a worker, as if its machine were lost, when half of the work is done."""

    def __init__(self, wanted: bool):
        self.wanted = wanted

    def __call__(self, share: float, label: str) -> None:
        if self.wanted and share > 0.5:
            self.wanted = False
            for path in Path("/proc").glob("[0-9]*"):
                with suppress(FileNotFoundError, ProcessLookupError):
                    if (path / "cmdline").read_bytes().startswith(b"ray::_run"):
                        os.kill(int(path.name), signal.SIGKILL)
                        return


def _table(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / TABLE)


if __name__ == "__main__":
    main()
