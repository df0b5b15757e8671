"""What a prior learned from other tasks gains over the channels' own, with few labels.

Two data sets, each task left out in turn and its prior learned from the other tasks with every
reader: the embedded benchmark (three tasks with five options, one with seven, four readers), and
real readings, for which CORDIAL_DATA names a folder with ``summeval_logits`` (see real.py).
Every rule sees the same subsets of labels and is scored on the same held-out texts.  Prints the
mean gain in log loss over the channels' own priors, by number of labels and by task, with 95 %
intervals (paired bootstrap over texts and subsets) and how many pairs of task and reader gain or
lose beyond theirs; writes all of it as JSON.

    CORDIAL_DATA=path python benchmarks/priors.py --data summeval --draws 10 --budgets 5 10 20 50
    python benchmarks/priors.py --data embedded --draws 20 --budgets 5 10 20 50 100
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from embedded import benchmark
from real import NEEDED, SOURCES, load

import cordial_ppl as cp
from cordial_ppl.data.labelled import Labelled, without_labels
from cordial_ppl.data.readings import as_logits
from cordial_ppl.errors import CordialWarning
from cordial_ppl.estimators.subsets import BatchFit, fit_subsets
from cordial_ppl.scores import Interval, paired_bootstrap

SUMMEVAL = SOURCES["summeval_logits"]
EMBEDDED = ("music", "beauty", "software", "mosei")
BLOCK = 4
"""Draws that are fitted together and kept; all cells have some before any has more."""

Cell = tuple[str, str, int]
RULES: Mapping[str, Mapping[str, Any]] = {
    "paper": {"name": "paper", "vector": False},
    "default": {"name": "cautious", "vector": True},
    "five parameters": {"name": "cautious", "vector": False},
}


class Pair(NamedTuple):
    """A task as one reader reads it: texts to draw labels from, and texts to be scored on."""

    task: str
    reader: str
    pool: np.ndarray
    pool_labels: np.ndarray
    report: np.ndarray
    report_labels: np.ndarray


def summeval() -> Iterator[Pair]:
    """Real readings; the 1,000 texts to be scored on are the same for all tasks and readers."""
    test = SUMMEVAL.report
    for task in SUMMEVAL.tasks:
        for reader in SUMMEVAL.readers:
            logits, labels = load("summeval_logits", task, reader)
            order = np.random.default_rng(77).permutation(len(labels))
            pool, report = order[:-test], order[-test:]
            yield Pair(task, reader, logits[pool], labels[pool], logits[report], labels[report])


def embedded() -> Iterator[Pair]:
    """The embedded benchmark: 2,000 texts to learn from (mosei: 18,135), 4,000 to score."""
    for name in EMBEDDED:
        task = benchmark(name)
        pool, report = task.rows("calibration"), task.rows("report")
        for reader, logits in task.logits.items():
            read, labels = as_logits(logits), task.labels
            yield Pair(name, reader, read[pool], labels[pool], read[report], labels[report])


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", choices=("summeval", "embedded"), default="embedded")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--budgets", type=int, nargs="+", default=[5, 10, 20, 50, 100])
    parser.add_argument("--rules", nargs="+", default=list(RULES), choices=list(RULES))
    parser.add_argument("--tasks", nargs="+", help="tasks to compare on; by default all")
    parser.add_argument("--readers", nargs="+", help="readers to compare with; by default all")
    parser.add_argument("--prior", type=Path, help="file of the fits; written if it is not there")
    parser.add_argument("--cells", type=Path, help="folder that keeps cells, to go on from")
    parser.add_argument("--out", type=Path, default=Path("priors.json"))
    args = parser.parse_args()
    if args.data == "summeval" and not os.environ.get("CORDIAL_DATA"):
        parser.error(NEEDED)
    pairs = list(summeval() if args.data == "summeval" else embedded())
    prior, start = learn(pairs, args.prior), time.perf_counter()
    chosen = [
        pair
        for pair in pairs
        if pair.task in (args.tasks or [pair.task])
        and pair.reader in (args.readers or [pair.reader])
    ]
    gains: dict[Cell, dict[str, np.ndarray]] = {}
    for first in range(0, args.draws, BLOCK):
        draws = range(first, min(first + BLOCK, args.draws))
        for n in args.budgets:
            for pair in chosen:
                cell, left = (pair.task, pair.reader, n), prior.leave_out([pair.task])
                values = kept(args.cells, (*cell, first, len(draws)), args.rules)
                values = values or compare(pair, left, args.rules, n, draws)
                keep(args.cells, (*cell, first, len(draws)), values)
                before = gains.get(cell)
                gains[cell] = values if before is None else join(before, values)
                means = "".join(f"{gain.mean():+9.4f}" for gain in values.values())
                seconds = time.perf_counter() - start
                print(f"{n:4d} {pair.task:12s}{pair.reader:30s}{means}{seconds:7.0f} s", flush=True)
    report(gains, args)


def join(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Put further draws after the first."""
    return {rule: np.concatenate([gain, second[rule]]) for rule, gain in first.items()}


def learn(pairs: list[Pair], path: Path | None) -> cp.priors.LearnedPrior:
    """Fit the channels to every pool, or read an earlier run's fits."""
    if path is not None and path.exists():
        return cp.priors.LearnedPrior.load(path)
    tasks = {(pair.task, pair.reader): (pair.pool, pair.pool_labels) for pair in pairs}
    prior = cp.learn_prior(tasks)
    if path is not None:
        prior.save(path)
    return prior


def kept(folder: Path | None, cell: tuple, rules: list[str]) -> dict[str, np.ndarray] | None:
    """What an earlier run found of a cell; None if there was none with these rules."""
    path = folder / ("_".join(map(str, cell)) + ".npz") if folder else None
    if path is None or not path.exists():
        return None
    with np.load(path) as archive:
        return {rule: archive[rule] for rule in rules} if set(rules) <= set(archive) else None


def keep(folder: Path | None, cell: tuple, gains: dict[str, np.ndarray]) -> None:
    """Keep a cell for a later run."""
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        small: dict[str, Any] = {rule: gain.astype(np.float32) for rule, gain in gains.items()}
        np.savez_compressed(folder / ("_".join(map(str, cell)) + ".npz"), **small)


def compare(
    pair: Pair, prior: cp.priors.LearnedPrior, rules: list[str], n: int, draws: range
) -> dict[str, np.ndarray]:
    """Gain of every rule, [draws, texts], in nats; subsets are the same for all readers."""
    subsets = np.stack(
        [np.random.default_rng([draw, n]).permutation(len(pair.pool_labels))[:n] for draw in draws]
    )
    judges = {"own": cp.Cordial()} | {
        rule: cp.Cordial(prior=prior.with_rule(**RULES[rule])) for rule in rules
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CordialWarning)
        pool, texts = Labelled(pair.pool, pair.pool_labels), without_labels(pair.report, {})
        batch = fit_subsets(judges, pool, subsets, draws, texts)
    losses = {}
    for name, fits in batch.items():
        if not isinstance(fits, BatchFit):
            raise fits
        labels = pair.report_labels
        losses[name] = np.stack(
            [cp.scores.log_loss(probs, labels, per_text=True) for probs in fits.probs]
        )
    return {rule: losses["own"] - losses[rule] for rule in rules}


def report(gains: dict, args: argparse.Namespace) -> None:
    """Print the tables and write the JSON file."""
    rows = []
    tasks = list(dict.fromkeys(task for task, _, _ in gains))
    groups = [(task,) for task in tasks] + ([tuple(tasks)] if len(tasks) > 1 else [])
    if "mosei" in tasks and len(tasks) > 2:
        groups.append(tuple(task for task in tasks if task != "mosei"))
    for rule in args.rules:
        print(f"\n{rule}: gain in nats [95 %], pairs that gain : lose beyond their interval")
        for group in groups:
            cells = []
            for n in args.budgets:
                values = [g[rule] for (task, _, m), g in gains.items() if task in group and m == n]
                # Texts and subsets are resampled together for all readers.
                mean = paired_bootstrap(np.mean(values, axis=0), draws=2000)
                each = [paired_bootstrap(gain, draws=2000) for gain in values]
                wins = sum(pair.resolved and pair.mean > 0 for pair in each)
                losses = sum(pair.resolved and pair.mean < 0 for pair in each)
                cells.append(_cell(mean) + f" {wins}:{losses}")
                rows.append(
                    {"rule": rule, "tasks": group, "n": n, **mean._asdict()}
                    | {"pairs": len(values), "gain": wins, "lose": losses}
                )
            print(f"  {' '.join(group)[:24]:24s}" + "  ".join(cells))
    settings = {key: str(value) for key, value in vars(args).items()}
    args.out.write_text(json.dumps({"settings": settings, "rows": rows}, indent=1))


def _cell(interval: Interval) -> str:
    return f"{interval.mean:+.4f} [{interval.lower:+.4f}, {interval.upper:+.4f}]"


if __name__ == "__main__":
    main()
