"""Does the advice to stop labelling hold, though it is looked at again and again?

Needs the sets of readings that benchmarks/estimates.py lists, and CORDIAL_DATA to name their
folder.  A run draws 400 texts of a set, with replacement, and labels those of a plan.  From 20
labels on, at every fifth one, the calibrator is fitted and the mean of texts like these estimated:
with the interval that holds at all looks together (`label.advice.level_at_all_looks`), as the page
of `cordial label` shows it, and with the one of a single look.  Printed for each set, with the
number of runs:

* in how many runs the truth lies outside at some look, which is how often "mean >= truth", the
  hardest requirement, is decided at all, and wrongly;
* the rule "within W", W a tenth of the scale: labels when it stops (runs that do not stop count
  with the last look), in how many the interval of that moment is off;
* the root mean square error of the mean then, and with a number of labels fixed at the mean of
  those; and the labels after which the interval of one look, without looking before, is as narrow.

    CORDIAL_DATA=path python benchmarks/stopping.py --runs 200 --rows stopping.jsonl
"""

import argparse
import json
import os
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from estimates import COLUMNS, list_pairs, load
from real import FOLDER, NEEDED

import cordial_ppl as cp
from cordial_ppl.decisions.planning import expected_scores, score_strata
from cordial_ppl.errors import CordialWarning
from cordial_ppl.label.advice import level_at_all_looks

TEXTS, LOOKS, LEVEL, WIDTH = 400, range(20, 101, 5), 0.9, 0.1


def main() -> None:
    """Simulate what is not in the file yet, then print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sources", nargs="+", choices=list(COLUMNS), default=list(COLUMNS))
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rows", type=Path, default=Path("stopping.jsonl"))
    args = parser.parse_args()
    if not os.environ.get(FOLDER):
        parser.error(NEEDED)
    warnings.simplefilter("ignore", CordialWarning)
    lines = args.rows.read_text().splitlines() if args.rows.exists() else []
    rows = {(row["source"], row["run"]): row for row in map(json.loads, lines)}
    with args.rows.open("a") as file:
        for run in range(args.runs):
            for source in args.sources:
                if (source, run) not in rows:
                    rows[source, run] = simulate(source, run)
                    file.write(json.dumps(rows[source, run]) + "\n")
                    file.flush()
    for source in args.sources:
        print(f"{source:20} {describe([rows[source, run] for run in range(args.runs)])}")


def simulate(source: str, run: int) -> dict[str, Any]:
    """Label one draw of texts, and look at every fifth label; all on the scale 0 to 1."""
    pairs = list_pairs(source)
    corpus = load(source, *pairs[run % len(pairs)])
    rng = np.random.default_rng([zlib.crc32(source.encode()), run])
    texts = rng.integers(len(corpus.labels), size=TEXTS)
    logits, labels = corpus.logits[texts], corpus.labels[texts]
    top, looks = logits.shape[1] - 1, []
    order = cp.plan(logits, max(LOOKS), seed=run).rows
    calibrator = cp.Cordial(seed=run)
    for count in LOOKS:
        rows = order[:count]
        calibrator.fit(logits[rows], labels[rows], corpus=logits)
        strata = score_strata(expected_scores(logits, calibrator.fit_.scale), count)
        ends = []
        for level in (LEVEL, level_at_all_looks(count, LEVEL)):
            made = calibrator.estimate(logits, rows, strata=strata, level=level)
            ends.append([float(end) / top for end in made.overall.mean])
        looks.append(ends)
    return {"source": source, "run": run, "truth": corpus.labels.mean() / top, "looks": looks}


def describe(rows: list[dict[str, Any]]) -> str:
    """Say how often intervals are off, and when the rule stops."""
    looks = np.array([row["looks"] for row in rows])  # [runs, looks, one or all, ends].
    truth = np.array([row["truth"] for row in rows])[:, None, None]
    means, low, high = np.moveaxis(looks, -1, 0)
    off = (low > truth) | (high < truth)
    one, every = off.any(axis=1).mean(axis=0)
    narrow = (high - low) / 2 <= WIDTH
    narrow[:, -1] = True
    stop, alone = narrow.argmax(axis=1).T[::-1]
    counts, runs = np.array(LOOKS), np.arange(len(rows))
    fixed = int(np.abs(counts - counts[stop].mean()).argmin())
    errors = means[..., 0] - truth[..., 0]
    then, same = (np.sqrt(np.mean(part**2)) for part in (errors[runs, stop], errors[:, fixed]))
    last = off[:, -1, 0].mean()
    return (
        f"off at some look {every:.3f} (single looks {one:.3f}, the last alone {last:.3f}); stops "
        f"at {counts[stop].mean():.0f} labels, off {off[runs, stop, 1].mean():.3f}, error "
        f"{then:.4f}; with {counts[fixed]} fixed {same:.4f}; as narrow at one look with "
        f"{counts[alone].mean():.0f} [{len(rows)}]"
    )


if __name__ == "__main__":
    main()
