"""Is it still the same judge? How often drift is seen where there is some, and where there is none.

Readings: two random halves of each set, 20 readings and the rest of their set, and 20 readings and
the whole set, which are no drift; the readings of another reader of the same texts, which are.

Labels: the default calibrator of 20 or 100 labels, on labels of other texts with the readings of
its own reader, and with those of another one. On all other texts, the cost of another reader is the
log loss beyond that with the own one; the excess is that beyond what the calibrator expects, given
the readings. Also how many labels lie within the intervals of the mean and of a label.
"""

from collections.abc import Iterator
from functools import cache
from itertools import product

import numpy as np
from measurement import Line, Means, Measurement
from real import list_names, split_each, trained_without

import cordial_ppl as cp
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions import answers
from cordial_ppl.decisions.drift import RATE, compare
from cordial_ppl.runtime.arrays import FLOOR
from cordial_ppl.stack.sketch import sketch

KEPT, WORSE, LEVEL, OTHERS = 20, 0.1, 0.9, 20
CASES = ("halves", "20 and the rest", "20 and the whole", "another, whole kept", "another, 20 kept")
SIZES = ((20, 20), (20, 100), (100, 20), (100, 100))
CELL = "set task"


@cache
def load(source: str, task: str) -> tuple[Scale, np.ndarray, dict[str, np.ndarray]]:
    """Options, labels and the logits of each reader, all texts of a task."""
    each = split_each(source, task)
    logits = {one.reader: np.vstack([one.report.logits, one.pool.logits]) for one in each}
    return each[0].scale, np.r_[each[0].report.labels, each[0].pool.labels], logits


def compare_readings(draw: int, *task: str) -> Iterator[Line]:
    """Compare readings, as each of `CASES` says: whether p is small, and whether there is alarm."""
    scale, _, readers = load(*task)
    sketches = {name: sketch(logits) for name, logits in readers.items()}
    for name, logits in readers.items():
        order = np.random.default_rng(draw).permutation(len(logits))
        half, few = len(order) // 2, sketch(logits[order[:KEPT]])
        pairs = [
            (CASES[0], sketch(logits[order[:half]]), sketch(logits[order[half:]])),
            (CASES[1], few, sketch(logits[order[KEPT:]])),
            (CASES[2], few, sketches[name]),
        ]
        for other in (old for of, old in sketches.items() if of != name):
            pairs += [(CASES[3], sketches[name], other)] * (draw == 0)
            pairs += [(CASES[4], few, other)] * (draw < OTHERS)
        for case, old, new in pairs:
            drift = compare(old, new, scale)
            assert drift is not None
            yield {"case": case, f"p at most {RATE}": drift.p <= RATE, "alarm": drift.alarm}


def check_labels(draw: int, source: str, task: str, n: int, new: int) -> Iterator[Line]:
    """Check labels with the readings of a fit's own reader, and with those of each other one."""
    _, truth, readers = load(source, task)
    for name, logits in readers.items():
        order = np.random.default_rng(draw).permutation(len(truth))
        rows, others, rest = np.split(order, [n, n + new])
        calibrator = cp.Cordial(prior=trained_without(source), seed=draw)
        calibrator.fit(logits[rows], truth[rows])
        fitted_loss = cp.scores.log_loss(calibrator.predict_proba(logits[rest]), truth[rest])
        for other, seen in readers.items():
            p = answers.check_labels(calibrator.fit_, seen[others], truth[others]).p
            probs = calibrator.predict_proba(seen[rest])
            loss = cp.scores.log_loss(probs, truth[rest])
            excess = loss + (probs * np.log(np.maximum(probs, FLOOR))).sum(axis=1).mean()
            line: Line = {f"p at most {rate}": p <= rate for rate in (0.05, 0.01)}
            line |= {"cost": loss - fitted_loss, "excess": excess}
            if other == name:
                yield {"judge": "the same"} | line | cover(calibrator, seen[rest], truth[rest])
                continue
            yield {"judge": "another"} | line
            if excess > WORSE:
                yield {"judge": "one that misleads"} | line


def cover(calibrator: cp.Cordial, logits: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Share of labels within the intervals of the mean and of a label."""
    ends = {
        "in that of the mean": calibrator.predict_interval(logits, LEVEL),
        "in that of a label": calibrator.predict_label_interval(logits, LEVEL),
    }
    return {k: ((low <= truth) & (truth <= high)).mean() for k, (low, high) in ends.items()}


MEASUREMENTS = (
    Measurement("drift-readings", list_names, compare_readings, Means(CELL, "set* case"), 50),
    Measurement(
        "drift-labels",
        lambda draw: [(*cell, *sizes) for cell, sizes in product(list_names(), SIZES)],
        check_labels,
        Means(f"{CELL} labels new", "labels new judge"),
        4,
    ),
)
