"""Does the advice to stop labelling hold, though it is looked at again and again?

A draw takes 400 texts of a set, with replacement, and labels those of a plan.  From 20
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
"""

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from estimates import list_pairs
from measurement import Line, Measurement, Row, average, root_mean_square
from real import FURTHER, SOURCES, load, trained_without

import cordial_ppl as cp
from cordial_ppl.decisions.planning import expected_scores, score_strata
from cordial_ppl.label.advice import level_at_all_looks

TEXTS, LOOKS, LEVEL, WIDTH = 400, range(20, 101, 5), 0.9, 0.1


def simulate(run: int, source: str) -> dict[str, Any]:
    """Label one draw of texts, and look at every fifth label; all on the scale 0 to 1."""
    pairs = list_pairs(source)
    readings, known = load(source, *pairs[run % len(pairs)])
    rng = np.random.default_rng([zlib.crc32(source.encode()), run])
    texts = rng.integers(len(known), size=TEXTS)
    logits, labels = readings[texts], known[texts]
    top, looks = logits.shape[1] - 1, []
    order = cp.plan(logits, max(LOOKS), seed=run).rows
    calibrator = cp.Cordial(prior=trained_without(source), seed=run)
    for count in LOOKS:
        rows = order[:count]
        calibrator.fit(logits[rows], labels[rows], corpus=logits)
        strata, ends = score_strata(expected_scores(logits, calibrator.fit_.scale), count), []
        for level in (LEVEL, level_at_all_looks(count, LEVEL)):
            made = calibrator.estimate(logits, rows, strata=strata, level=level)
            ends.append([float(end) / top for end in made.overall.mean])
        looks.append(ends)
    return {"truth": known.mean() / top, "looks": looks}


def tabulate(rows: Sequence[Row]) -> Iterator[Line]:
    """Say how often intervals are off, and when the rule stops, in each set and in all."""
    sources = [str(row.cell[0]) for row in rows]
    for name in (*dict.fromkeys(sources), "all"):
        yield {"set": name} | describe([r for r in rows if name in (r.cell[0], "all")])


def describe(rows: list[Row]) -> Line:
    """Describe some runs."""
    looks = np.array([row.numbers["looks"] for row in rows])  # [runs, looks, one or all, ends].
    truth = np.array([row.numbers["truth"] for row in rows])[:, None, None]
    means, low, high = np.moveaxis(looks, -1, 0)
    off = (low > truth) | (high < truth)
    one, every = off.any(axis=1).T
    wide = high - low
    narrow = wide / 2 <= WIDTH
    narrow[:, -1] = True
    stop, alone = narrow.argmax(axis=1).T[::-1]
    counts, runs = np.array(LOOKS), np.arange(len(rows))
    fixed = int(np.abs(counts - counts[stop].mean()).argmin())
    errors = means[..., 0] - truth[..., 0]
    by = [row.draw for row in rows], [row.cell[0] for row in rows]
    return {
        "runs": len(rows),
        **average("off at some look", every, *by),
        **average("one look's, at some look", one, *by),
        **average("one look's, at the last", off[:, -1, 0], *by),
        **average("times as wide", (wide[..., 1] / wide[..., 0]).mean(axis=1), *by),
        **average("labels at the stop", counts[stop], *by),
        **average("off at the stop", off[runs, stop, 1], *by),
        **root_mean_square("error at the stop", errors[runs, stop], *by),
        "labels fixed": int(counts[fixed]),
        **root_mean_square("error with these", errors[:, fixed], *by),
        **average("labels of one look as narrow", counts[alone], *by),
    }


MEASUREMENTS = (
    Measurement(
        "stopping",
        lambda draw: [(source,) for source in (*SOURCES, *FURTHER)],
        simulate,
        tabulate,
        6,
    ),
)
