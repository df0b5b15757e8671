"""Whether forecasts of more labels come true, and verdicts are right, on real readings.

Needs the sets of readings that benchmarks/real.py lists, and CORDIAL_DATA to name their folder.
The default calibrator is fitted to nested subsets of labels.  What 20 and 50 labels forecast is
compared with the loss on held-out texts that 40 and 100 labels reach: bias, error, and how often
80 % ranges hold it, with standard errors over tasks.  Verdicts are right if the calibrator's loss
on held-out texts is below the label histogram's ("use it"), or no more than .02 nats below it ("do
not use it").  Readings that say nothing, or little, are made by shuffling those of all texts, or of
70 % of them.  Rows are kept in a file, one line each, and not computed again.

    CORDIAL_DATA=path python benchmarks/forecasts.py --draws 8 --rows forecasts.jsonl
"""

import argparse
import json
import os
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from real import FOLDER, HALVES, NEEDED, SOURCES, Pair, load_pairs

from cordial_ppl.cordial import Cordial
from cordial_ppl.cordial.subsets import Texts
from cordial_ppl.errors import CordialWarning
from cordial_ppl.inference.data import Labelled
from cordial_ppl.readings import label_histogram
from cordial_ppl.scores import log_loss
from cordial_ppl.verdict import Advice

COUNTS = 20, 40, 50, 100
STEPS = (20, 40), (20, 100), (50, 100)
SHUFFLED = 0.0, 0.7, 1.0
WORTH = 0.02
"""Gain over the histogram, nats, above which advice not to use a calibrator was wrong."""


def main() -> None:
    """Fit, forecast and compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sources", nargs="+", choices=list(SOURCES), default=list(SOURCES))
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--rows", type=Path, default=Path("forecasts.jsonl"))
    args = parser.parse_args()
    if not os.environ.get(FOLDER):
        parser.error(NEEDED)
    warnings.simplefilter("ignore", CordialWarning)
    known = args.rows.read_text().splitlines() if args.rows.exists() else []
    rows = [json.loads(line) for line in known]
    done = {(row["pair"], row["draw"], row["shuffled"]) for row in rows}
    pairs = load_pairs(args.sources)
    cells = [
        (share, draw, place)
        for share in SHUFFLED
        for draw in range(args.draws)
        for place in range(len(pairs))
        # Of shuffled readings, every third pair's: those are made alike.
        if share == 0 or (place + draw) % 3 == 0
    ]
    with args.rows.open("a") as file:
        for share, draw, place in cells:
            if (pairs[place].name, draw, share) not in done:
                rows.append(measure(pairs[place], draw, place, share))
                file.write(json.dumps(rows[-1]) + "\n")
                file.flush()
    report(rows)


def measure(pair: Pair, draw: int, place: int, share: float) -> dict:
    """Fit to nested subsets of the labels of one task and reader."""
    rng = np.random.default_rng([draw, place, round(10 * share)])
    own = pair.reading
    pool, held_out = (shuffle(texts, share, rng) for texts in (own.pool, own.report))
    order, fits = rng.permutation(len(own.pool_labels)), {}
    for count in COUNTS:
        rows = order[:count]
        labels = own.pool_labels[rows]
        calibrator = Cordial(own.scale.options, seed=draw).fit_labelled(
            Labelled(pool.logits[rows], labels, {}), own.scale
        )
        loss = log_loss(calibrator.predict_proba(held_out.logits), own.report_labels)
        histogram = np.tile(label_histogram(labels, own.scale.size), (len(own.report_labels), 1))
        steps = [step for step in COUNTS if step > count]
        forecast = calibrator.forecast(held_out.logits, counts=steps or None)
        verdict = calibrator.verdict()
        assert verdict is not None
        fits[str(count)] = {
            "loss": loss,
            "gain": log_loss(histogram, own.report_labels) - loss,
            "advice": verdict.advice.value,
            "said": verdict.gain,
            "out_of_fold": calibrator.expected_.cordial,
            "now": forecast.loss,
            "steps": {str(step.labels): [step.loss, step.gain] for step in forecast.steps},
        }
    where = {"source": pair.source, "half": pair.half, "pair": pair.name}
    return where | {"draw": draw, "shuffled": share, "fits": fits}


def shuffle(texts: Texts, share: float, rng: np.random.Generator) -> Texts:
    """Deal the readings of a share of the texts anew."""
    rows = np.flatnonzero(rng.random(len(texts.logits)) < share)
    logits = texts.logits.copy()
    logits[rows] = logits[rng.permutation(rows)]
    return Texts(logits)


def report(rows: list[dict]) -> None:
    """Print the tables."""
    real = [row for row in rows if row["shuffled"] == 0]
    print(f"{len(real)} draws of labels; of shuffled readings {len(rows) - len(real)}")
    for before, after in STEPS:
        print(f"\nlog loss at {after} labels, forecast at {before}")
        print(f"  {'':20} bias     (se)    sd   in the 80 % range | gain: bias    sd   in range")
        for name in (*HALVES, "all", *SOURCES):
            own = [row for row in real if name in ("all", row["half"], row["source"])]
            if own:
                print(f"  {name:20} {describe(own, str(before), str(after))}")
    for count in COUNTS:
        fits = [row["fits"][str(count)] for row in real]
        own = np.array([[fit["out_of_fold"], fit["now"][0], fit["loss"]] for fit in fits])
        alone, used = (own[:, :2] - own[:, 2:]).std(axis=0)
        print(f"\nerror of the loss now, {count} labels: {used:.3f}; out of fold {alone:.3f}")
    for share in SHUFFLED:
        for count in COUNTS:
            own = [row["fits"][str(count)] for row in rows if row["shuffled"] == share]
            if own:
                print(f"\n{share:.0%} shuffled, {count} labels: {judged(own)}")


def describe(rows: list[dict], before: str, after: str) -> str:
    """Bias, error and coverage of the loss and of the gain."""
    found = np.array(
        [
            [*row["fits"][before]["steps"][after][0], *row["fits"][before]["steps"][after][1]]
            + [row["fits"][name]["loss"] for name in (before, after)]
            for row in rows
        ]
    )
    loss, low, high, gain, least, most, now, then = found.T
    tasks = np.array([row["pair"].rpartition(" ")[0] for row in rows])
    each = [np.mean((then - loss)[tasks == task]) for task in set(tasks.tolist())]
    error, came = then - loss, now - then
    return (
        f"{error.mean():+.3f} ({np.std(each) / len(each) ** 0.5:.3f}) {error.std():.3f}   "
        f"{np.mean((low <= then) & (then <= high)):.2f}              | "
        f"{np.mean(came - gain):+.3f} {np.std(came - gain):.3f}   "
        f"{np.mean((least <= came) & (came <= most)):.2f}"
    )


def judged(fits: list[dict]) -> str:
    """How often each advice is given, how often it is right, and how often the interval holds."""
    counts, parts = Counter(fit["advice"] for fit in fits), []
    for advice in Advice:
        gains = np.array([fit["gain"] for fit in fits if fit["advice"] == advice.value])
        right = {Advice.USE: gains > 0, Advice.REJECT: gains < WORTH}.get(advice)
        words = "" if right is None or not len(gains) else f" (right {right.mean():.0%})"
        parts.append(f"{advice.value} {counts[advice.value] / len(fits):.0%}{words}")
    inside = np.mean([fit["said"][1] <= fit["gain"] <= fit["said"][2] for fit in fits])
    return ", ".join(parts) + f"; gain in its 90 % interval {inside:.0%}"


if __name__ == "__main__":
    main()
