"""How many fits a second a sweep makes, batched against one by one and against other libraries.

    python benchmarks/sweep.py                    # fits per second, by method and batch size
    python benchmarks/sweep.py --methods paper --sizes 64 --device host accelerator
    python benchmarks/sweep.py --grid one         # wall time of one task and reader
    python benchmarks/sweep.py --grid whole       # the paper's grid: 4 tasks x 4 readers

The same commands run on a GPU where JAX finds one; the device is printed and written with the
figures.  ``--device accelerator`` fits channels by `cordial_ppl.inference.accelerator`, which a CPU
can run too: its CPU seconds are then compared with the host's.  Warm times are of other labels
after a first batch that compiled; "first" is that one.
Rivals do the same job one fit at a time: our own estimators in a loop, scikit-learn's logistic
regression with 18 penalties and four folds for Dirichlet calibration, statsmodels' ordinal model
for proportional odds, and netcal, where it is installed, for temperature scaling.  A grid keeps
nothing and is run without kept compilations, so that its time is that of a first run.

Prints a table and writes everything as JSON.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import jax
import numpy as np
from embedded import load_tasks

import cordial_ppl as cp
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.readings import as_logits
from cordial_ppl.estimators.estimator import Estimator
from cordial_ppl.estimators.subsets import fit_subsets
from cordial_ppl.evaluation.methods import NINE
from cordial_ppl.evaluation.sweeps import BUDGETS, run_sweep
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.runtime.progress import doing

METHODS: dict[str, Callable[[int], Estimator]] = {
    "paper": lambda seed: cp.Cordial.paper(seed=seed),
    "default": lambda seed: cp.Cordial(seed=seed),
    "logit stack": lambda seed: cp.LogitStack(seed=seed),
    "dirichlet": lambda seed: cp.DirichletCalibration(),
    "odds": lambda seed: cp.ProportionalOdds(),
    "temperature": lambda seed: cp.TemperatureScaling(),
}
DEVICES = ("auto", "host", "accelerator")
LARGEST_LOOP = 10
"""Fits that a loop is timed over."""
TEXTS = 2000
DRAWS = 20


def draw(n: int, count: int, seed: int) -> np.ndarray:
    """Rows of `count` subsets."""
    rng = np.random.default_rng([seed, n])
    return np.stack([rng.choice(TEXTS, n, replace=False) for _ in range(count)])


def timed(work: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds that a call takes."""
    start = clock()
    work()
    return clock() - start


def batched(
    method: str, n: int, count: int, repeats: int, device: str, predicted: int
) -> dict[str, float]:
    """Seconds of one call for many subsets, of the wall and of all cores ("cpu")."""
    texts = reviews(TEXTS)
    pool = Labelled(as_logits(texts.logits), texts.labels)
    report = pool.take(slice(0, predicted))

    def work(seed: int) -> None:
        rows = draw(n, count, seed)
        estimators, seeds = {method: METHODS[method](0)}, range(seed, seed + count)
        batch = fit_subsets(estimators, pool, rows, seeds, report, device=device)
        if isinstance(batch[method], Exception):
            raise batch[method]  # type: ignore[misc]

    first, cpu, seconds = timed(lambda: work(0), time.process_time), [], []
    for seed in range(1, repeats + 1):
        start = time.process_time()
        seconds.append(timed(lambda: work(seed)))  # noqa: B023
        cpu.append(time.process_time() - start)
    figures = {"first": first, "median": float(np.median(seconds)), "best": min(seconds)}
    return figures | {"cpu": float(np.median(cpu))}


def one_by_one(method: str, n: int) -> float:
    """Seconds of a fit in a loop over subsets, after one that compiled."""
    texts = reviews(TEXTS)
    seconds = []
    for seed, rows in enumerate(draw(n, LARGEST_LOOP + 1, 1)):
        estimator = METHODS[method](seed)
        seconds.append(timed(lambda: estimator.fit(texts.logits[rows], texts.labels[rows])))  # noqa: B023
    return float(np.median(seconds[1:]))


def sklearn_grid(logits: np.ndarray, labels: np.ndarray) -> None:
    """Penalised multinomial regression on the log probabilities, as Dirichlet calibration is."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, KFold

    logs = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    grid = {"C": np.logspace(-4, 4, 18)}
    GridSearchCV(LogisticRegression(max_iter=500), grid, cv=KFold(4)).fit(logs, labels)


def statsmodels_odds(logits: np.ndarray, labels: np.ndarray) -> None:
    """Ordinal regression by maximum likelihood, without the penalty that few labels need."""
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    codes = np.unique(labels, return_inverse=True)[1]
    OrderedModel(codes, logits[:, 1:], distr="logit").fit(method="bfgs", disp=False)


def netcal_temperature(logits: np.ndarray, labels: np.ndarray) -> None:
    """Temperature scaling by netcal."""
    from netcal.scaling import TemperatureScaling  # type: ignore[import-not-found]

    probs = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
    TemperatureScaling().fit(probs, labels)


RIVALS = {
    "dirichlet": ("scikit-learn", sklearn_grid),
    "odds": ("statsmodels", statsmodels_odds),
    "temperature": ("netcal", netcal_temperature),
}


def rival(method: str, n: int) -> tuple[str, float] | None:
    """The library that does the same job, and its median seconds a fit; None where it is absent."""
    if method not in RIVALS:
        return None
    name, fit = RIVALS[method]
    texts, seconds = reviews(TEXTS), []
    for rows in draw(n, LARGEST_LOOP, 1):
        if len(np.unique(texts.labels[rows])) > 1:
            try:
                seconds.append(timed(lambda: fit(texts.logits[rows], texts.labels[rows])))  # noqa: B023
            except ImportError:
                return None
    return name, float(np.median(seconds))


def run_grid(which: str) -> dict[str, Any]:
    """Wall time of a grid, as `cordial sweep` runs it for the first time."""
    tasks = load_tasks(["music"], ["main"]) if which == "one" else load_tasks()
    budgets = (*BUDGETS, 200, 500, 1000, 2000) if which == "one" else BUDGETS
    start = time.perf_counter()
    with doing("the grid", plain=True):
        run_sweep(tasks, NINE, budgets, DRAWS)
    seconds = time.perf_counter() - start
    fits = len(tasks) * len(budgets) * DRAWS * len(NINE)
    print(f"{which}: {fits} fits in {seconds:.0f} s, {fits / seconds:.1f} a second")
    return {"grid": which, "fits": fits, "seconds": seconds}


def main() -> None:
    """Time the sweep."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--grid", choices=("one", "whole"), help="time a grid instead")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--labels", type=int, nargs="+", default=[20])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 5, 20, 60])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--device", nargs="+", default=["auto"], choices=DEVICES)
    parser.add_argument("--predicted", type=int, default=8, help="texts that each fit predicts")
    parser.add_argument("--out", type=Path, default=Path("sweep.json"))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    device = jax.devices()[0].device_kind
    print(f"{len(jax.devices())} x {device}")
    settings = {k: str(v) if isinstance(v, Path) else v for k, v in vars(args).items()}
    content: dict[str, Any] = {"device": device, "settings": settings}
    if args.grid:
        args.out.write_text(json.dumps(content | run_grid(args.grid)))
        return
    rows = []
    header = "".join(
        f"{name:>13s}"
        for name in ("first, cpu s", "cpu s", "fits/s", "best", "loop/s", "ratio", "rival/s")
    )
    print(f"{'':14s}{'':12s}{'n':>5s}{'batch':>7s}{header}")
    for method in args.methods:
        for n in args.labels:
            loop, other = one_by_one(method, n), rival(method, n)
            for size, device in product(args.sizes, args.device):
                times = batched(method, n, size, args.repeats, device, args.predicted)
                speed, best = size / times["median"], size / times["best"]
                row = {"method": method, "n": n, "batch": size, "device": device, **times}
                rows.append(row | {"loop": loop, "rival": other})
                numbers = times["first"], times["cpu"], speed, best, 1 / loop, speed * loop
                line = "".join(f"{number:13.2f}" for number in numbers)
                line += f"{1 / other[1]:13.1f}  {other[0]}" if other else ""
                print(f"{method:14s}{device:12s}{n:5d}{size:7d}{line}", flush=True)
    args.out.write_text(json.dumps(content | {"rows": rows}))


if __name__ == "__main__":
    main()
