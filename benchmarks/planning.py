"""Which texts to label: `cordial plan` against choice at random, on real readings.

Needs the sets of readings that benchmarks/real.py lists, and CORDIAL_DATA to name their folder.
Texts are chosen in two ways, each as often as --draws says.  The default calibrator is fitted to
their labels and scored on held-out texts: printed is the log loss after a plan less that after
random choice, with a 95 % interval (bootstrap over tasks, whose readers go together, and draws).
The mean label of all texts of a task is estimated from the same numbers of labels (--means draws,
for nothing is fitted): printed are root mean square errors and median widths as shares of the
classical ones, the labels' own mean with Student's t on random texts, and how often 90 % intervals
hold.  The first m texts of a plan are the plan of m, which is checked on every draw.

    CORDIAL_DATA=path python benchmarks/planning.py --draws 20
"""

import argparse
import json
import os
import time
import warnings
import zlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from real import FOLDER, NEEDED, SOURCES, Pair, load_pairs

from cordial_ppl.data.readings import as_logits
from cordial_ppl.decisions.estimates.rectified import rectified_means
from cordial_ppl.decisions.planning import expected_scores, plan, score_strata
from cordial_ppl.errors import CordialWarning
from cordial_ppl.estimators.named import Cordial
from cordial_ppl.estimators.subsets import fit_subsets
from cordial_ppl.scores import log_loss

PREFIXES = (12, 16, 20, 24, 32)
BOOTSTRAPS = 2000
CHOICES = ("random", "plan")


def choose(how: str, logits: np.ndarray, pair: Pair, n: int, draw: int) -> np.ndarray:
    """Positions of n texts to label: draws of different tasks have nothing in common."""
    seed = zlib.crc32(f"{pair.source} {pair.reading.name} {draw}".encode())
    if how == "random":
        return np.random.default_rng([seed, n]).permutation(len(logits))[:n]
    return plan(logits, n, options=pair.reading.scale, seed=seed).rows


def main() -> None:
    """Choose, fit, score and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sources", nargs="+", choices=list(SOURCES), default=list(SOURCES))
    parser.add_argument("--readers", type=int, help="first of a task's readers; by default all")
    parser.add_argument("--draws", type=int, default=6, help="of labels that are fitted; 0: none")
    parser.add_argument("--means", type=int, default=200, help="draws of labels for means")
    parser.add_argument("--budgets", type=int, nargs="+", default=[10, 20, 40])
    parser.add_argument("--out", type=Path, default=Path("planning.json"))
    args = parser.parse_args()
    if not os.environ.get(FOLDER):
        parser.error(NEEDED)
    warnings.simplefilter("ignore", CordialWarning)
    pairs = [
        pair
        for pair in load_pairs(args.sources)
        if pair.reading.reader in SOURCES[pair.source].readers[: args.readers]
    ]
    for pair in pairs:
        check_prefixes(pair, max(args.draws, 1), max(args.budgets))
    means = {n: report_means(pairs, n, args.means) for n in args.budgets if args.means}
    content = {"settings": vars(args) | {"out": str(args.out)}, "means": means, "differences": {}}
    args.out.write_text(json.dumps(content, indent=1))
    start = time.perf_counter()
    for n in args.budgets if args.draws else ():
        cells = []
        for pair in pairs:
            cells.append((pair, cell := difference(pair, n, args.draws)))
            spent = time.perf_counter() - start
            print(f"{n:4} {pair.name:62} {cell.mean():7.4f} ({spent:.0f} s)", flush=True)
            content["differences"][n] = {rule.name: part.tolist() for rule, part in cells}
            args.out.write_text(json.dumps(content, indent=1))
        report_differences(n, cells)


def check_prefixes(pair: Pair, draws: int, most: int) -> None:
    """Raise where the beginning of a plan is not the plan of fewer texts."""
    logits = pair.reading.pool.logits
    for draw in range(draws):
        whole = choose("plan", logits, pair, most, draw)
        for n in (n for n in PREFIXES if n < most):
            if not np.array_equal(choose("plan", logits, pair, n, draw), whole[:n]):
                raise AssertionError(f"{pair.name}: a plan of {n} is not how one of {most} begins")


def difference(pair: Pair, n: int, draws: int) -> np.ndarray:
    """Log loss on the held-out texts after a plan less after random choice, of each draw."""
    reading, seeds = pair.reading, range(draws)
    losses = {}
    for how in CHOICES:
        rows = [choose(how, reading.pool.logits, pair, n, draw) for draw in seeds]
        fits = fit_subsets(
            {"default": Cordial()},
            reading.pool,
            np.array(rows),
            seeds,
            reading.report,
        )["default"]
        if isinstance(fits, Exception):
            raise fits
        losses[how] = np.array([log_loss(probs, reading.report.labels) for probs in fits.probs])
    return losses["plan"] - losses["random"]


def report_differences(n: int, cells: Sequence[tuple[Pair, np.ndarray]]) -> None:
    """Print mean differences, of all tasks and of each set."""
    for name in ("all", *dict.fromkeys(pair.source for pair, _ in cells)):
        tasks = defaultdict(list)
        for pair, cell in cells:
            if name in ("all", pair.source):
                tasks[pair.source, pair.reading.name].append(cell)
        mean, low, high = bootstrap([np.array(readers) for readers in tasks.values()])
        print(f"{n:4} {name:20} log loss {mean:+.4f} [{low:+.4f}, {high:+.4f}]", flush=True)


def bootstrap(tasks: Sequence[np.ndarray]) -> tuple[float, float, float]:
    """Mean over readers and draws of tasks ``[R, S]``, and a 95 % interval."""
    rng, means = np.random.default_rng(0), []
    for _ in range(BOOTSTRAPS):
        taken = [tasks[k] for k in rng.integers(0, len(tasks), len(tasks))]
        drawn = [part[:, rng.integers(0, part.shape[1], part.shape[1])] for part in taken]
        means.append(np.concatenate(drawn).mean())
    low, high = np.quantile(means, [0.025, 0.975])
    return float(np.concatenate(list(tasks)).mean()), float(low), float(high)


def report_means(pairs: Sequence[Pair], n: int, draws: int) -> dict[str, dict[str, float]]:
    """Print errors, widths and coverage of estimates of a task's mean label."""
    results = defaultdict(list)
    for pair in pairs:
        reading = pair.reading
        logits = as_logits(np.concatenate([reading.pool.logits, reading.report.logits]))
        labels = np.concatenate([reading.pool.labels, reading.report.labels])
        scores, values = expected_scores(logits, reading.scale), reading.scale.values[labels]
        strata, nothing = score_strata(scores, n), np.zeros(len(values))
        estimators = {
            "labels alone": (nothing, None),
            "labels alone, strata": (nothing, strata),
            "rectified": (scores, None),
            "rectified, strata": (scores, strata),
        }
        for how in CHOICES:
            drawn = [choose(how, logits, pair, n, draw) for draw in range(draws)]
            for name, (estimates, parts) in estimators.items():
                ends = np.array(
                    [
                        rectified_means(estimates, rows, values[rows], strata=parts)["these"][:3]
                        for rows in drawn
                    ]
                )
                error = np.sqrt(np.mean((ends[:, 0] - values.mean()) ** 2))
                held = (ends[:, 1] <= values.mean()) & (values.mean() <= ends[:, 2])
                width = np.median(ends[:, 2] - ends[:, 1])
                results[how, name].append((pair.source, error, width, held.mean()))
    classical = results["random", "labels alone"]
    means = {}
    for (how, name), cells in results.items():
        ratios = [
            [cell[1] / one[1], cell[2] / one[2], cell[3]]
            for cell, one in zip(cells, classical, strict=True)
        ]
        error, width, held = np.mean(ratios, axis=0)
        sets = defaultdict(list)
        for cell in cells:
            sets[cell[0]].append(cell[3])
        worst = min(np.mean(each) for each in sets.values())
        means[f"{how}, {name}"] = {"error": error, "width": width, "held": held, "worst": worst}
        print(
            f"{n:4} {how:8} {name:22} error {error:.3f} width {width:.3f} holds {held:.3f}, "
            f"in a set {worst:.3f} or more",
            flush=True,
        )
    return means


if __name__ == "__main__":
    main()
