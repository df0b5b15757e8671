"""Whether forecasts of more labels come true, and verdicts are right, on real readings.

Needs the sets of readings that benchmarks/real.py lists, and CORDIAL_DATA to name their folder.
The default calibrator, with a prior that does not know the set, is fitted to nested subsets of
labels.  What 20 and 50 labels forecast is compared with the loss on held-out texts that 40 and 100
labels reach: bias, error, and how often 80 % ranges hold it, with standard errors over tasks.
Verdicts are right if the calibrator's loss on held-out texts is below the label histogram's ("use
it"), or no more than .02 nats below it ("do not use it").  Readings that say nothing, or little,
are made by shuffling those of all texts, of 70 % or of half of them.  ``--embedded`` takes the
tasks of `embedded.py` instead.  What forecasts and verdicts are computed from
is kept in a file, a line a draw, and not fitted again: other constants cost nothing.

    CORDIAL_DATA=path python benchmarks/forecasts.py --draws 0 6 --rows forecasts.jsonl
"""

import argparse
import json
import os
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from members import trained_without, without
from real import FOLDER, NEEDED, SOURCES, Pair, load_embedded, load_pairs

from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.labelling import by_text
from cordial_ppl.data.readings import label_histogram
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.forecasting import Forecast, Outlook, forecast
from cordial_ppl.decisions.outlook import expected_loss_and_gap
from cordial_ppl.decisions.verdict import Advice, Verdict, judge
from cordial_ppl.errors import CordialWarning
from cordial_ppl.estimators.named import Cordial
from cordial_ppl.scores import log_loss
from cordial_ppl.stack.entering import predict
from cordial_ppl.stack.fit import fit_stack

COUNTS = 20, 40, 50, 100
STEPS = (20, 40), (20, 100), (50, 100)
SHUFFLED = 0.0, 0.5, 0.7, 1.0
WORTH = 0.02
"""Gain over the histogram, nats, above which advice not to use a calibrator was wrong."""


def main() -> None:
    """Fit, forecast and compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sources", nargs="+", choices=list(SOURCES), default=list(SOURCES))
    parser.add_argument("--embedded", action="store_true", help="the embedded tasks instead")
    parser.add_argument(
        "--draws", type=int, nargs=2, default=(0, 6), metavar=("FIRST", "END"), help="of labels"
    )
    parser.add_argument("--shares", type=float, nargs="+", choices=SHUFFLED, default=SHUFFLED)
    parser.add_argument("--fits", type=Path, help="folder of priors trained without each set")
    parser.add_argument("--rows", type=Path, default=Path("forecasts.jsonl"))
    args = parser.parse_args()
    if not (args.embedded or os.environ.get(FOLDER)):
        parser.error(NEEDED)
    warnings.simplefilter("ignore", CordialWarning)
    lines = args.rows.read_text().splitlines() if args.rows.exists() else []
    rows = {(row["pair"], row["draw"], row["shuffled"]): row for row in map(json.loads, lines)}
    pairs = load_embedded() if args.embedded else load_pairs(args.sources)
    cells = [
        (pair, draw, index, share)
        for share in args.shares
        for draw in range(*args.draws)
        for index, pair in enumerate(pairs)
        # Of shuffled readings, every third pair's: those are made alike.
        if share == 0 or (index + draw) % 3 == 0
    ]
    with args.rows.open("a") as file:
        for pair, draw, index, share in cells:
            if (pair.name, draw, share) not in rows:
                row = measure(pair, draw, index, share, args.fits)
                rows[pair.name, draw, share] = row
                file.write(json.dumps(row) + "\n")
                file.flush()
    report([rows[pair.name, draw, share] for pair, draw, _, share in cells])


def measure(
    pair: Pair, draw: int, index: int, share: float, fits_at: Path | None
) -> dict[str, Any]:
    """Fit to nested subsets of the labels of one task and reader."""
    rng = np.random.default_rng([draw, index, round(10 * share)])
    reading = pair.reading
    pool, held_out = (shuffle(texts, share, rng) for texts in (reading.pool, reading.report))
    order, fits = rng.permutation(len(reading.pool.labels)), {}
    prior = trained_without(pair.source, fits_at) if fits_at else without(pair.source)
    for count in COUNTS:
        rows = order[:count]
        labels = reading.pool.labels[rows]
        settings = Cordial(prior=prior, seed=draw).settings
        fit = fit_stack(Labelled(pool.logits[rows], labels, {}), reading.scale, settings)
        assert fit.out_of_fold is not None
        loss = log_loss(predict(fit, held_out)[0], reading.report.labels)
        histogram = np.tile(
            label_histogram(labels, reading.scale.size), (len(reading.report.labels), 1)
        )
        fits[str(count)] = {
            "loss": loss,
            "gain": log_loss(histogram, reading.report.labels) - loss,
            "labels": labels.tolist(),
            "out_of_fold": np.round(fit.out_of_fold, 5).tolist(),
            "outlook": expected_loss_and_gap(fit, held_out.logits, {}),
        }
    where = {"source": pair.source, "half": pair.half, "pair": pair.name}
    where |= {"options": reading.scale.options}
    return where | {"draw": draw, "shuffled": share, "fits": fits}


def shuffle(texts: Labelled, share: float, rng: np.random.Generator) -> Labelled:
    """Deal the readings of a share of the texts anew."""
    rows = np.flatnonzero(rng.random(len(texts.logits)) < share)
    logits = texts.logits.copy()
    logits[rows] = logits[rng.permutation(rows)]
    return replace(texts, logits=logits)


def foretell(row: dict[str, Any], count: int) -> tuple[Forecast, Verdict]:
    """What was said with so many labels of one draw."""
    fit, scale = row["fits"][str(count)], Scale(tuple(row["options"]))
    labels = by_text(np.array(fit["labels"]), scale.size)
    probs = np.array(fit["out_of_fold"])
    steps = [step for step in COUNTS if step > count]
    forecasts = forecast(labels, probs, scale.values, Outlook(*fit["outlook"]), steps or None)
    return forecasts, judge(labels, probs, scale)


def report(rows: list[dict[str, Any]]) -> None:
    """Print the tables."""
    foretold = {(id(row), count): foretell(row, count) for row in rows for count in COUNTS}
    real = [row for row in rows if row["shuffled"] == 0]
    print(f"{len(real)} draws of labels; of shuffled readings {len(rows) - len(real)}")
    names = dict.fromkeys(row[key] for key in ("half", "source") for row in real)
    for before, after in STEPS if real else ():
        print(f"\nlog loss at {after} labels, forecast at {before}")
        print(f"  {'':20} bias     (se)    sd   in the 80 % range | gain: bias    sd   in range")
        for name in (*names, "all"):
            matches = [row for row in real if name in ("all", row["half"], row["source"])]
            ahead = [foretold[id(row), before][0] for row in matches]
            print(f"  {name:20} {describe(matches, ahead, before, after)}")
    for count in COUNTS if real else ():
        now = np.array([foretold[id(row), count][0].at(count).loss.value for row in real])
        verdicts = [foretold[id(row), count][1] for row in real]
        alone = np.array([each.calibrated.loss for each in verdicts if each.calibrated])
        loss = np.array([row["fits"][str(count)]["loss"] for row in real])
        print(
            f"\nerror of the loss now, {count} labels: {(now - loss).std():.3f}; out of fold "
            f"{(alone - loss).std():.3f}"
        )
    for share in SHUFFLED:
        for count in COUNTS:
            matches = [row for row in rows if row["shuffled"] == share]
            gains = np.array([row["fits"][str(count)]["gain"] for row in matches])
            if matches:
                words = judged([foretold[id(row), count][1] for row in matches], gains)
                print(f"\n{share:.0%} shuffled, {count} labels: {words}")


def describe(rows: list[dict[str, Any]], ahead: list[Forecast], before: int, after: int) -> str:
    """Bias, error and coverage of the loss and of the gain."""
    steps = [gains.at(after) for gains in ahead]
    loss, low, high = np.array([step.loss for step in steps]).T
    gain, least, most = np.array([step.gain for step in steps]).T
    now, then = np.array([[row["fits"][str(n)]["loss"] for n in (before, after)] for row in rows]).T
    tasks = np.array([row["pair"].rpartition(" ")[0] for row in rows])
    each = [np.mean((then - loss)[tasks == task]) for task in set(tasks.tolist())]
    error, came = then - loss, now - then
    return (
        f"{error.mean():+.3f} ({np.std(each) / len(each) ** 0.5:.3f}) {error.std():.3f}   "
        f"{np.mean((low <= then) & (then <= high)):.2f}              | "
        f"{np.mean(came - gain):+.3f} {np.std(came - gain):.3f}   "
        f"{np.mean((least <= came) & (came <= most)):.2f}"
    )


def judged(verdicts: list[Verdict], gains: np.ndarray) -> str:
    """How often each advice is given, how often it is right, and how often the interval holds."""
    counts, parts = Counter(verdict.advice for verdict in verdicts), []
    for advice in Advice:
        matches = gains[[verdict.advice is advice for verdict in verdicts]]
        right = {Advice.USE: matches > 0, Advice.REJECT: matches < WORTH}.get(advice)
        words = "" if right is None or not len(matches) else f" (right {right.mean():.0%})"
        parts.append(f"{advice.value} {counts[advice] / len(verdicts):.0%}{words}")
    _, low, high = np.array([verdict.gain for verdict in verdicts]).T
    inside = np.mean((low <= gains) & (gains <= high))
    return ", ".join(parts) + f"; gain in its 90 % interval {inside:.0%}"


if __name__ == "__main__":
    main()
