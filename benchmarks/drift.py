"""Is it still the same judge? How often drift is seen where there is some, and where there is none.

Readings: two random halves of each set, 20 readings and the rest of their set, and 20 readings and
the whole set, which are no drift; the readings of another reader of the same texts, which are.

Labels: the default calibrator of 20 or 100 labels, on labels of other texts with the readings of
its own reader, and with those of another one. On all other texts, the cost of another reader is the
log loss beyond that with the own one; the excess is that beyond what the calibrator expects, given
the readings. Also how many labels lie within the intervals of the mean and of a label.

    CORDIAL_DATA=path python benchmarks/drift.py readings
    CORDIAL_DATA=path python benchmarks/drift.py labels
    CORDIAL_DATA=path python benchmarks/drift.py labels --quick

Prints tables, and writes everything as JSON.
"""

import argparse
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from real import FOLDER, NEEDED, SOURCES, load_task

import cordial_ppl as cp
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions import answers
from cordial_ppl.decisions.drift import RATE, compare
from cordial_ppl.errors import CordialWarning
from cordial_ppl.runtime.arrays import FLOOR
from cordial_ppl.stack.sketch import sketch

KEPT, WORSE, LEVEL, OTHERS = 20, 0.1, 0.9, 20
CASES = ("halves", "20 and the rest", "20 and the whole", "another, whole kept", "another, 20 kept")
SIZES = ((20, 20), (20, 100), (100, 20), (100, 100))
Task = tuple[Scale, np.ndarray, dict[str, np.ndarray]]


def load(source: str, task: str) -> Task:
    """Options, labels and the logits of each reader, all texts of a task."""
    readers = list(load_task(source, task))
    logits = {one.reader: np.vstack([one.report.logits, one.pool.logits]) for one in readers}
    return (
        readers[0].scale,
        np.concatenate([readers[0].report.labels, readers[0].pool.labels]),
        logits,
    )


def readings(task: Task, repeats: int) -> Iterator[tuple[str, float, bool]]:
    """Compare readings, as each of `CASES` says: the p value, and whether there is an alarm."""
    scale, _, readers = task
    sketches = {name: sketch(logits) for name, logits in readers.items()}
    for name, logits in readers.items():
        others = [old for other, old in sketches.items() if other != name]
        pairs = [(CASES[3], sketches[name], other) for other in others]
        for repeat in range(repeats):
            order = np.random.default_rng(repeat).permutation(len(logits))
            half, few = len(order) // 2, sketch(logits[order[:KEPT]])
            pairs += [
                (CASES[0], sketch(logits[order[:half]]), sketch(logits[order[half:]])),
                (CASES[1], few, sketch(logits[order[KEPT:]])),
                (CASES[2], few, sketches[name]),
                *((CASES[4], few, other) for other in others if repeat < OTHERS),
            ]
        for case, old, new in pairs:
            drift = compare(old, new, scale)
            assert drift is not None
            yield case, drift.p, drift.alarm


def labels(task: Task, n: int, new: int, fits: int) -> Iterator[dict[str, float]]:
    """Check labels with the readings of a fit's own reader, and with those of each other one."""
    scale, truth, readers = task
    for name, logits in readers.items():
        for seed in range(fits):
            order = np.random.default_rng(seed).permutation(len(truth))
            rows, others, rest = np.split(order, [n, n + new])
            calibrator = cp.Cordial(seed=seed).fit(logits[rows], truth[rows])
            fitted_loss = cp.scores.log_loss(calibrator.predict_proba(logits[rest]), truth[rest])
            for other, seen in readers.items():
                drift = answers.check_labels(calibrator.fit_, seen[others], truth[others])
                probs = calibrator.predict_proba(seen[rest])
                loss = cp.scores.log_loss(probs, truth[rest])
                expected = -(probs * np.log(np.maximum(probs, FLOOR))).sum(axis=1).mean()
                result = {"same": float(other == name), "p": drift.p}
                result |= {"cost": loss - fitted_loss, "excess": float(loss - expected)}
                if other == name:
                    result |= cover(calibrator, seen[rest], truth[rest])
                yield result


def cover(calibrator: cp.Cordial, logits: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Share of labels within the intervals of the mean and of a label."""
    ends = {
        "the mean": calibrator.predict_interval(logits, LEVEL),
        "a label": calibrator.predict_label_interval(logits, LEVEL),
    }
    return {
        name: float(((low <= truth) & (truth <= high)).mean()) for name, (low, high) in ends.items()
    }


def compare_readings(tasks: dict[str, list[Task]], repeats: int) -> dict[str, list]:
    """Print how often readings raise an alarm."""
    results = {}
    for source, readers in tasks.items():
        print(f"readings of {source}: comparisons, p at most {RATE}, alarms")
        results[source] = cases = [one for task in readers for one in readings(task, repeats)]
        for case in CASES:
            _, p, alarms = map(
                np.array, zip(*(one for one in cases if one[0] == case), strict=True)
            )
            print(f"  {case:20}{len(p):6}{(p <= RATE).mean():8.4f}{alarms.mean():8.4f}", flush=True)
    return results


def check_labels(tasks: list[Task], fits: int) -> dict[str, list]:
    """Print how often labels do."""
    results = {}
    for n, new in SIZES:
        cases = [one for task in tasks for one in labels(task, n, new, fits)]
        results[f"{n} labels, {new} new"] = cases
        other = [one for one in cases if not one["same"]]
        kinds = {
            "own reader": [one for one in cases if one["same"]],
            "another": other,
            f"excess over {WORSE}": [one for one in other if one["excess"] > WORSE],
        }
        print(f"{new} labels for a fit of {n}: checks, p at most .05, .01, cost, excess")
        for kind, some in kinds.items():
            if some:
                keys = "p", "cost", "excess"
                p, *means = (np.array([one[key] for one in some]) for key in keys)
                rates = (p <= 0.05).mean(), (p <= 0.01).mean(), *map(np.mean, means)
                print(f"  {kind:20}{len(p):6}" + "".join(f"{rate:8.3f}" for rate in rates))
        for name in ("the mean", "a label"):
            inside = np.mean([one[name] for one in kinds["own reader"]])
            print(f"  labels within the {LEVEL:.0%} interval of {name}: {inside:.3f}", flush=True)
    return results


def main() -> None:
    """Run both parts."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("readings", "labels"))
    parser.add_argument("--quick", action="store_true", help="few repeats of a few tasks")
    parser.add_argument("--output", type=Path, default=Path("drift.json"))
    args = parser.parse_args()
    if FOLDER not in os.environ:
        parser.error(NEEDED)
    warnings.simplefilter("ignore", CordialWarning)
    repeats, fits = (10, 1) if args.quick else (200, 2)
    tasks = {
        source: [load(source, task) for task in about.tasks[: 1 if args.quick else None]]
        for source, about in SOURCES.items()
    }
    if args.what == "readings":
        results = compare_readings(tasks, repeats)
    else:
        results = check_labels([task for readers in tasks.values() for task in readers], fits)
    args.output.write_text(json.dumps(results, default=bool))


if __name__ == "__main__":
    main()
