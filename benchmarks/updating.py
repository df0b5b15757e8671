"""Labels taken in one by one, against a fit of all of them, on real readings.

A calibrator is fitted to five labels of a task and reader and takes further ones in one by one, by
`partial_fit`.  At each number of labels that is looked at it is compared with fits from scratch, of
which two, with different seeds, say how much chance there is in a fit.

    CORDIAL_DATA=path python benchmarks/updating.py
    CORDIAL_DATA=path python benchmarks/updating.py --pairs 4 --at 20

Prints, for each number of labels: the log loss after updates and of fits; the mean difference with
its standard error, and the largest; the root mean square difference of probabilities, and of a
channel's posterior means in standard deviations; each beside that of two fits.  Then milliseconds,
and those of all cores, of an update and of a fit.  Writes JSON.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from real import FOLDER, NEEDED, Pair, load_pairs

import cordial_ppl as cp
from cordial_ppl.evaluation.sweep.tasks import draw_subsets

START = 5


def main() -> None:
    """Compare on every pair and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, help="how many tasks and readers; by default all")
    parser.add_argument("--draws", type=int, default=1, help="of the labels, for each pair")
    parser.add_argument("--at", type=int, nargs="+", default=[20, 60, 105])
    parser.add_argument("--out", type=Path, default=Path("updating.json"))
    args = parser.parse_args()
    if not os.environ.get(FOLDER):
        parser.error(NEEDED)
    warnings.simplefilter("ignore", cp.CordialWarning)
    pairs = load_pairs()
    if args.pairs:
        pairs = [pairs[i] for i in np.linspace(0, len(pairs) - 1, args.pairs).astype(int)]
    found = []
    for number, pair in enumerate(pairs):
        for draw, rows in enumerate(draw_subsets(pair.reading, max(args.at), args.draws, 0)):
            found += [
                {"pair": pair.name, "draw": draw, **row}
                # Readers of one task have the same texts: their folds are to differ.
                for row in follow(pair, rows, args.at, seed=3 * (number * args.draws + draw))
            ]
            args.out.write_text(json.dumps(found, indent=1))
    show(found, args.at)


def follow(pair: Pair, rows: np.ndarray, at: Iterable[int], seed: int) -> Iterable[dict[str, Any]]:
    """Take labels in one by one; compare at some numbers of them."""
    logits, labels = pair.reading.pool.logits[rows], pair.reading.pool_labels[rows]
    updated = cp.Cordial(seed=seed).fit(logits[:START], labels[:START])
    last = START
    for count in sorted(at):
        times = []
        for place in range(last, count):
            one = slice(place, place + 1)
            times.append(timed(lambda one=one: updated.partial_fit(logits[one], labels[one])))
        some, last = slice(count), count
        one, other = (cp.Cordial(seed=seed + own) for own in (1, 2))
        one.fit(logits[some], labels[some])
        spent = timed(lambda other=other, some=some: other.fit(logits[some], labels[some]))
        yield {
            "labels": count,
            "updated": compare(pair, updated, one),
            "fits": compare(pair, other, one),
            "update_ms": np.median(times, axis=0).tolist(),
            "fit_ms": spent,
        }


def compare(pair: Pair, left: cp.Cordial, right: cp.Cordial) -> dict[str, float]:
    """How two calibrators differ: in log loss, in probabilities, in their channels' means."""
    texts, truth = pair.reading.report, pair.reading.report_labels
    probs = [own.predict_proba(texts.logits) for own in (left, right)]
    losses = [cp.scores.log_loss(own, truth) for own in probs]
    shifts = []
    for name, own in left.posteriors_.items():
        other = right.posteriors_[name]
        means = [fit.weights @ fit.draws for fit in (own, other)]
        spread = np.sqrt(other.weights @ (other.draws - means[1]) ** 2)
        shifts.append((means[0] - means[1]) / spread)
    return {
        "loss": losses[0],
        "difference": losses[0] - losses[1],
        "expected": left.expected_.cordial - right.expected_.cordial,
        "probs": float(np.sqrt(np.mean(np.square(probs[0] - probs[1])))),
        "means": float(np.sqrt(np.mean(np.square(np.concatenate(shifts))))),
    }


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds that a call takes, and those of all cores."""
    start, cores = time.perf_counter(), time.process_time()
    work()
    return 1e3 * (time.perf_counter() - start), 1e3 * (time.process_time() - cores)


def show(found: list[dict[str, Any]], at: Iterable[int]) -> None:
    """Print the table."""
    print(f"{'':26s}{'updated':>10s}{'two fits':>10s}")
    for count in sorted(at):
        own = [row for row in found if row["labels"] == count]
        kinds = {kind: [row[kind] for row in own] for kind in ("updated", "fits")}
        print(f"{count} labels, {len(own)} draws")

        def line(name: str, value: Callable[[list[dict[str, float]]], float], kinds=kinds) -> None:
            print(f"  {name:24s}" + "".join(f"{value(rows):10.4f}" for rows in kinds.values()))

        def of(rows: list[dict[str, float]], name: str) -> np.ndarray:
            return np.array([row[name] for row in rows])

        line("log loss", lambda rows: of(rows, "loss").mean())
        line("difference, mean", lambda rows: of(rows, "difference").mean())
        line("  standard error", lambda rows: of(rows, "difference").std() / len(rows) ** 0.5)
        line("  root mean square", lambda rows: np.sqrt(np.mean(of(rows, "difference") ** 2)))
        line("  largest", lambda rows: np.abs(of(rows, "difference")).max())
        line("expected loss, mean", lambda rows: of(rows, "expected").mean())
        line("probabilities, rms", lambda rows: of(rows, "probs").mean())
        line("posterior means, rms", lambda rows: of(rows, "means").mean())
        for name, key in (("an update", "update_ms"), ("a fit", "fit_ms")):
            wall, cores = np.median([row[key] for row in own], axis=0)
            print(f"  {name:24s}{wall:7.0f} ms{cores:7.0f} ms of all cores")


if __name__ == "__main__":
    main()
