"""What several readers together gain over one of them, and over other ways to combine them.

Two data sets: the embedded benchmark (four tasks, four readers of the same texts), and real
readings, for which CORDIAL_DATA names a folder with ``summeval_logits`` (see real.py; five
readers, two of them poor) or ``wmt23_esa_users`` (eight readers with hard ratings).  Every method
sees the same labels and is scored on the same texts.  Prints the log loss of each, the fusion's
gain over it in nats with 95 % intervals (paired bootstrap over texts and draws), and how many
settings of task and number of labels it wins; writes all of it as JSON.

    python benchmarks/fusion.py --data embedded --draws 20 --budgets 5 10 20 50 100 200 500
    CORDIAL_DATA=path python benchmarks/fusion.py --data summeval --draws 10 --budgets 20 100
    CORDIAL_DATA=path python benchmarks/fusion.py --data wmt --draws 10 --budgets 20 100
    CORDIAL_DATA=path python benchmarks/fusion.py --data summeval --shuffled --budgets 20 100
    python benchmarks/fusion.py --speed

With ``--speed`` it times warm fits of four readers with 20 labels instead.
"""

import argparse
import json
import os
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from embedded import benchmark
from members import without
from real import NEEDED
from rivals import LogitFusion, average_reading, leave_out_joint, predict_concatenated

import cordial_ppl as cp
from cordial_ppl.estimators.fusion.panel import read_by
from cordial_ppl.scores import paired_bootstrap
from cordial_ppl.stack.entering import enter, predict
from cordial_ppl.tables import match_labels, read_labels, read_several

SUMMEVAL = ("coherence", "consistency", "fluency", "relevance")
SUMMEVAL_READERS = (
    "gpt-4o-mini_geval",
    "deepseek-r1-distill-qwen-32b",
    "qwen2.5",
    "gpt-4o_cot1",
    "gpt-4o_cot3",
)
WMT = ("ESA-1", "ESA-2", "ESA-IAA", "MQM-1", "MQM-IAA")
EMBEDDED = ("music", "beauty", "software", "mosei")
FOLDERS = {"summeval": "summeval_logits", "wmt": "wmt23_esa_users"}
TEST = 800
LEAST_DIRICHLET = 5
"""Draws with Dirichlet calibration of all readings at once, which takes longest by far."""


class Texts(NamedTuple):
    """One task as all readers read it: texts to draw labels from, and texts to be scored on."""

    pool: np.ndarray
    labels: np.ndarray
    report: np.ndarray
    truth: np.ndarray
    readers: tuple[str, ...]


def main() -> None:
    """Run the comparison, or the timing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", default="embedded", choices=("embedded", "summeval", "wmt"))
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--budgets", type=int, nargs="+", default=[20, 100])
    parser.add_argument("--tasks", nargs="+")
    parser.add_argument("--paper", action="store_true", help="of fusion, stacks and logit stacks")
    parser.add_argument("--concatenated", type=int, nargs="+", help="budgets of Dirichlet of all")
    parser.add_argument(
        "--shuffled", action="store_true", help="the first reader, and one of noise"
    )
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("fusion.json"))
    args = parser.parse_args()
    if args.speed:
        return speed()
    if args.data != "embedded" and not os.environ.get("CORDIAL_DATA"):
        parser.error(NEEDED)
    losses: dict[tuple, dict[str, dict]] = defaultdict(lambda: defaultdict(dict))
    sources = {"embedded": EMBEDDED, "summeval": SUMMEVAL, "wmt": WMT}[args.data]
    start = time.perf_counter()
    for draw in range(args.draws):
        for task in args.tasks or sources:
            for n, name, loss in compare(load(args.data, task, draw, args.shuffled), draw, args):
                losses[task, n][name][draw] = loss.astype(np.float32)
            print(f"draw {draw}, {task}: {time.perf_counter() - start:.0f} s", flush=True)
        if (draw + 1) % 5 == 0 or draw + 1 == args.draws:
            report(losses, args)
    return None


def load(data: str, task: str, draw: int, shuffled: bool = False) -> Texts:
    """The texts of a task, those to draw labels from in the order of a draw.

    With one of noise there are two readers: the first, and the second with its readings shuffled.
    """
    if data == "embedded":
        made = benchmark(task)
        logits = np.stack(list(made.logits.values()), axis=1)
        pool, scored = made.rows("calibration"), made.rows("report")
        labels, names = made.labels, tuple(made.logits)
    else:
        base = Path(os.environ["CORDIAL_DATA"]) / FOLDERS[data]
        readers = SUMMEVAL_READERS if data == "summeval" else None
        table = read_several([base / "readings.parquet"], readers=readers, task=task)
        labelled = read_labels(base / "labels.csv", table.scale, task=task)
        labelled, rows = match_labels(table, labelled)
        logits, names = table.logits[rows], table.readers
        labels = labelled.labels
        every = np.random.default_rng(7).permutation(len(labels))
        pool, scored = every[:-TEST], every[-TEST:]
    if shuffled:
        logits, names = logits[:, :2].copy(), names[:2]
        logits[:, 1] = logits[np.random.default_rng([draw, 9]).permutation(len(logits)), 1]
    order = pool[np.random.default_rng([draw, 5]).permutation(len(pool))]
    return Texts(logits[order], labels[order], logits[scored], labels[scored], names)


def compare(texts: Texts, draw: int, args: Any) -> Iterator[tuple[int, str, np.ndarray]]:
    """Per-text losses of every method with every number of labels."""
    whole = bool(read_by(texts.pool).all() and read_by(texts.report).all())
    average = average_reading(texts.pool), average_reading(texts.report)
    # What the default prior knows of these very readings is left out.
    prior = None if args.data == "embedded" else without(FOLDERS[args.data])
    judge: dict[str, Any] = {"readers": texts.readers, "seed": draw} | (
        {} if args.paper else {"prior": prior}
    )
    literal: dict[str, Any] = {"average": False, "weight_counts": 1.0} if args.paper else {}
    for n in args.budgets:
        logits, labels = texts.pool[:n], texts.labels[:n]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cp.CordialWarning)
            fusion = (cp.Fusion.paper if args.paper else cp.Fusion)(**judge).fit(logits, labels)
            plain = LogitFusion(readers=texts.readers, seed=draw, **literal).fit(logits, labels)
            predictions = {
                "fusion": fusion.predict_proba(texts.report),
                "without channels": plain.predict_proba(texts.report),
                "average reading": cp.RawReading().fit(average[0]).predict_proba(average[1]),
            }
            if whole:
                apart = leave_out_joint(fusion.fit_)
                entered = enter(apart, texts.report)
                predictions["without joint channel"] = predict(apart, entered)[0]
            if whole and draw < LEAST_DIRICHLET and n in (args.concatenated or args.budgets):
                predicted = predict_concatenated(logits, labels, texts.report)
                predictions["Dirichlet of all"] = predicted
        for index, name in enumerate(texts.readers):
            rows = np.flatnonzero(read_by(texts.report)[:, index])
            if len(rows) == len(texts.report):
                entered = enter(fusion.fit_.fits[name], texts.report[:, index])
                predictions[f"reader {name}"] = predict(fusion.fit_.fits[name], entered)[0]
        best = f"reader {fusion.best_reader_}"
        if best in predictions:
            predictions["best reader by CV"] = predictions[best]
        for name, probs in predictions.items():
            yield n, name, cp.scores.log_loss(probs, texts.truth, per_text=True)


def measure_gains(losses: dict) -> list[dict]:
    """Each method's mean loss, and the fusion's gain over it with its interval.

    Standard errors are over draws; "gains" has the mean gain of each draw.
    """
    rows = []
    for (task, n), matches in sorted(losses.items()):
        for name, other in matches.items():
            # A reader that has not read every text has no loss in some draws, or in all.
            rivals = np.stack(list(other.values()))
            fused = np.stack([matches["fusion"][draw] for draw in other])
            gain = paired_bootstrap(rivals - fused, draws=2000)
            gains = (rivals - fused).mean(axis=1, dtype=float)
            row = {"task": task, "n": n, "method": name, "draws": len(rivals)}
            row |= {"log_loss": float(rivals.mean()), "gain": [float(part) for part in gain]}
            row |= {"standard_error": error_of(rivals.mean(axis=1)), "gain_error": error_of(gains)}
            row["gains"] = gains.round(6).tolist()
            rows.append(row)
    return rows


def error_of(values: np.ndarray) -> float | None:
    """Return the standard error of a mean over draws; None of one draw."""
    if len(values) < 2:
        return None
    return float(values.std(ddof=1) / len(values) ** 0.5)


def count_wins(rows: list[dict]) -> Iterator[str]:
    """In how many settings the fusion beats each method.

    Settings share their draws: the error of the mean gain is that of the draws' means.
    """
    for name in dict.fromkeys(row["method"] for row in rows if row["method"] != "fusion"):
        matches = [row for row in rows if row["method"] == name]
        wins = [row for row in matches if row["gain"][0] > 0]
        sure = [row for row in wins if row["gain"][1] > 0]
        lost = [row for row in matches if row["gain"][2] < 0]
        mean = np.mean([row["gain"][0] for row in matches])
        fewest = min(row["draws"] for row in matches)
        error = error_of(np.mean([row["gains"][:fewest] for row in matches], axis=0))
        yield (
            f"{name:34} {len(wins):3} of {len(matches)} "
            f"({len(sure)} resolved, {len(lost)} lost), {mean:+.4f}"
            + (f" ± {error:.4f}" if error else "")
        )


def report(losses: dict, args: Any) -> None:
    """Print the tables and write the JSON file."""
    rows = measure_gains(losses)
    args.out.write_text(json.dumps({"data": args.data, "rows": rows}, indent=1))
    for task in dict.fromkeys(row["task"] for row in rows):
        matches = [row for row in rows if row["task"] == task]
        budgets = list(dict.fromkeys(row["n"] for row in matches))
        print(f"\n{task:36}" + "".join(f"{n:>32}" for n in budgets))
        for name in dict.fromkeys(row["method"] for row in matches):
            cells = ""
            for row in (row for row in matches if row["method"] == name):
                mean, low, high = row["gain"]
                cell = f"{row['log_loss']:.3f} {mean:+.3f} [{low:+.3f}, {high:+.3f}]"
                cells += f"{cell:>32}"
            print(f"  {name:34}{cells}")
    print("\nsettings in which the fusion has the lower loss (of these resolved), mean gain")
    for line in count_wins(rows):
        print(f"  {line}", flush=True)


def speed() -> None:
    """Time warm fits of four readers with 20 labels."""
    made = benchmark("music")
    rows = made.rows("calibration")
    logits = np.stack(list(made.logits.values()), axis=1)
    times = []
    for run in range(16):
        labelled = rows[20 * run : 20 * run + 20]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cp.CordialWarning)
            start = time.perf_counter()
            cp.Fusion(seed=run).fit(logits[labelled], made.labels[labelled])
            times.append(time.perf_counter() - start)
    warm = sorted(times[1:])
    print(f"first {times[0]:.1f} s; warm: median {warm[7]:.2f} s, {warm[0]:.2f} to {warm[-1]:.2f}")


if __name__ == "__main__":
    main()
