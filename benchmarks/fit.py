"""How long a fit takes, cold and warm, by number of labels and of options.

Cold is what a new process pays: a fresh interpreter that finds nothing compiled imports the package
and fits once.  Kept is the same in a second process, which finds what the first has compiled; CPU
seconds, of all cores, are steadier than time where the machine is busy.  First is the first fit for
an n and K in a process that has fitted other things.  Warm is a fit with other labels and another
seed after that; its median and minimum are given, and its median's ratio to a rival that is timed
in between: scikit-learn's logistic regression on the logits, its penalty chosen among ten by
five-fold cross-validation.

    python benchmarks/fit.py
    python benchmarks/fit.py --quick

Prints milliseconds and writes everything as JSON.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold

import cordial_ppl as cp
from cordial_ppl.channels import CHANNELS
from cordial_ppl.evaluation.synthetic import reviews

METHODS: dict[str, Callable[[int], Any]] = {
    "default": lambda seed: cp.Cordial(seed=seed),
    "paper": lambda seed: cp.Cordial.paper(seed=seed),
    "logit stack": lambda seed: cp.LogitStack(seed=seed),
    "temperature": lambda seed: cp.TemperatureScaling(),
    "vector": lambda seed: cp.VectorScaling(),
    "odds": lambda seed: cp.ProportionalOdds(),
    **{name: lambda seed, name=name: cp.ChannelCalibrator(name, seed=seed) for name in CHANNELS},
}
PENALTIES = np.logspace(-4, 4, 10)
TEXTS = 2000


def draw(texts, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Readings and labels of n texts, with at least two options among the labels."""
    rng = np.random.default_rng([seed, n])
    while True:
        rows = rng.choice(len(texts.labels), n, replace=False)
        if len(np.unique(texts.labels[rows])) > 1:
            return texts.logits[rows], texts.labels[rows]


def rival(logits: np.ndarray, labels: np.ndarray) -> GridSearchCV:
    """Fit scikit-learn's logistic regression, its penalty by five-fold cross-validation."""
    grid = {"C": PENALTIES}
    search = GridSearchCV(LogisticRegression(max_iter=1000), grid, cv=KFold(5))
    return search.fit(logits, labels)


def timed(work: Callable[[], object]) -> float:
    """Milliseconds that a call takes."""
    start = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - start)


def cold(method: str, n: int, size: int) -> dict[str, dict[str, float]]:
    """Milliseconds of the first fit in a fresh process, without kept programs and with them."""
    environment = {k: v for k, v in os.environ.items() if k != "JAX_COMPILATION_CACHE_DIR"}
    command, times = [sys.executable, __file__, "--one", method, str(n), str(size)], {}
    with tempfile.TemporaryDirectory() as folder:
        environment["CORDIAL_CACHE_DIR"] = folder
        for run in ("cold", "kept"):
            start = time.perf_counter()
            printed = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            ).stdout
            whole = 1e3 * (time.perf_counter() - start)
            fit, cpu, cpu_whole = json.loads(printed.splitlines()[-1])
            times[run] = {"fit": fit, "process": whole, "cpu": cpu, "cpu_process": cpu_whole}
    return times


def warm(method: str, n: int, size: int, repeats: int) -> dict[str, float]:
    """Milliseconds of the first fit in this process and of later ones, and of the rival's."""
    texts = reviews(TEXTS, options=size)
    times, others = [], []
    for seed in range(repeats + 1):
        logits, labels = draw(texts, n, seed)
        times.append(timed(partial(METHODS[method](seed).fit, logits, labels)))
        others.append(timed(partial(rival, logits, labels)))
    median, other = statistics.median(times[1:]), statistics.median(others[1:])
    return {
        "first": times[0],
        "warm_median": median,
        "warm_minimum": min(times[1:]),
        "rival_median": other,
        "rival_minimum": min(others[1:]),
        "ratio": median / other,
    }


def main() -> None:
    """Time the fits."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small run, to see that it works")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--labels", type=int, nargs="+", default=[5, 10, 20, 50, 100])
    parser.add_argument("--options", type=int, nargs="+", default=[3, 5, 7])
    parser.add_argument("--cold-labels", type=int, nargs="*", default=[20])
    parser.add_argument("--cold-options", type=int, nargs="*", default=[5])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("fit.json"))
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.one:
        method, n, size = args.one[0], int(args.one[1]), int(args.one[2])
        logits, labels = draw(reviews(TEXTS, options=size), n, 0)
        estimator, begun = METHODS[method](0), time.process_time()
        spent = timed(partial(estimator.fit, logits, labels))
        print([spent, 1e3 * (time.process_time() - begun), 1e3 * time.process_time()])
        return
    if args.quick:
        args.methods, args.labels, args.options = ["default", "paper", "vector"], [20], [5]
        args.repeats = 5
    rows = []
    header = "".join(f"{name:>14s}" for name in ("first fit", "CPU", "whole process", "CPU"))
    print(f"{'new process, ms':18s}{'n':>5s}{'K':>4s}{header}")
    for method in args.methods:
        for size in args.cold_options:
            for n in args.cold_labels:
                for run, times in cold(method, n, size).items():
                    rows.append({"method": method, "n": n, "K": size, "run": run, **times})
                    order = ("fit", "cpu", "process", "cpu_process")
                    line = "".join(f"{times[name]:14.0f}" for name in order)
                    print(f"{f'{method}, {run}':18s}{n:5d}{size:4d}{line}", flush=True)
    header = "".join(f"{name:>10s}" for name in ("first", "median", "minimum", "rival", "ratio"))
    print(f"\n{'warm, ms':18s}{'n':>5s}{'K':>4s}{header}")
    for method in args.methods:
        for size in args.options:
            for n in args.labels:
                times = warm(method, n, size, args.repeats)
                rows.append({"method": method, "n": n, "K": size, **times})
                line = f"{times['first']:10.0f}{times['warm_median']:10.1f}"
                line += f"{times['warm_minimum']:10.1f}{times['rival_median']:10.1f}"
                print(f"{method:18s}{n:5d}{size:4d}{line}{times['ratio']:10.2f}", flush=True)
    print("\nrival: scikit-learn's logistic regression with a grid of 10 penalties and five folds")
    settings = {k: str(v) if isinstance(v, Path) else v for k, v in vars(args).items()}
    args.out.write_text(json.dumps({"settings": settings, "rows": rows}))


if __name__ == "__main__":
    main()
