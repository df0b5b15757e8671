"""Which texts to label: `cordial plan` against choice at random, on real readings.

Texts are chosen in both ways.  The default calibrator is fitted to their labels and scored on
held-out texts: the log loss after a plan less that after random choice.  The mean label of all
texts of a task is estimated from the same numbers of labels: root mean square errors and widths as
shares of the classical ones, the labels' own mean with Student's t on random texts, and how often
90 % intervals hold.
"""

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from measurement import (
    Key,
    Line,
    Means,
    Measurement,
    Row,
    average,
    group,
    linearise,
    list_lowest,
    list_records,
    split,
)
from real import list_tasks, split_task, trained_without

from cordial_ppl.data.readings import as_logits
from cordial_ppl.decisions.estimates.rectified import rectified_means
from cordial_ppl.decisions.planning import expected_scores, plan, score_strata
from cordial_ppl.estimators.named import Cordial
from cordial_ppl.scores import log_loss

BUDGETS, CHOICES = (10, 20, 40), ("random", "plan")
CELL = "set task reader labels"
CLASSICAL = "random", "labels alone"


def list_cells(draw: int) -> Iterator[Key]:
    """List every number of labels, task and reader."""
    return ((*pair, n) for n in BUDGETS for pair in list_tasks())


def choose(how: str, logits: np.ndarray, task: str, scale: Any, n: int, draw: int) -> np.ndarray:
    """Positions of n texts to label: draws of different tasks have nothing in common."""
    seed = zlib.crc32(f"{task} {draw}".encode())
    if how == "random":
        return np.random.default_rng([seed, n]).permutation(len(logits))[:n]
    return plan(logits, n, options=scale, seed=seed).rows


def compare_losses(draw: int, source: str, name: str, reader: str, n: int) -> Line:
    """Log loss on the held-out texts after a plan less after random choice."""
    task, losses = split_task(source, name, reader), {}
    for how in CHOICES:
        rows = choose(how, task.pool.logits, f"{source} {name}", task.scale, n, draw)
        fitted = Cordial(prior=trained_without(source), seed=draw)
        fitted.fit(task.pool.logits[rows], task.pool.labels[rows])
        losses[how] = log_loss(fitted.predict_proba(task.report.logits), task.report.labels)
    return {"plan less random": losses["plan"] - losses["random"]}


def estimate_means(draw: int, source: str, name: str, reader: str, n: int) -> Iterator[Line]:
    """Error, width and coverage of estimates of the task's mean label."""
    task = split_task(source, name, reader)
    logits = as_logits(np.concatenate([task.pool.logits, task.report.logits]))
    values = task.scale.values[np.concatenate([task.pool.labels, task.report.labels])]
    scores, truth = expected_scores(logits, task.scale), values.mean()
    strata, nothing = score_strata(scores, n), np.zeros(len(values))
    for how in CHOICES:
        rows = choose(how, logits, f"{source} {name}", task.scale, n, draw)
        for estimate, base in (("labels alone", nothing), ("rectified", scores)):
            for kind, parts in (("", None), (", strata", strata)):
                made = rectified_means(base, rows, values[rows], strata=parts)["these"]
                mean, low, high = made[:3]
                line: Line = {"texts": how, "estimate": estimate + kind, "error": mean - truth}
                # Labels that are all alike give an interval without ends.
                width = float(np.fmin(high - low, np.ptp(task.scale.values)))
                yield line | {"width": width, "covers": low <= truth <= high}


def tabulate(rows: Sequence[Row]) -> Iterator[Line]:
    """Average errors and widths as shares of the classical ones, over tasks and readers."""
    shares: list[Line] = []
    for cell, some in group((row.cell, row) for row in rows):
        records = [each | {"cell": cell} for each in list_records(some, CELL)]
        ways = dict(group(((each["texts"], each["estimate"]), each) for each in records))
        for part in ways.values():
            errors, widths = (
                np.array([[each[name] for each in way] for way in (part, ways[CLASSICAL])])
                for name in ("error", "width")
            )
            errors, widths = linearise(*errors**2, root=True), linearise(*widths)
            for each, error, width in zip(part, errors, widths, strict=True):
                shares.append(each | {"error": error, "width": width})
    for line, some in split(shares, ("labels", "texts", "estimate")):
        by = [each["draw"] for each in some], [each["cell"] for each in some]
        for name in ("error", "width", "covers"):
            line |= average(name, [each[name] for each in some], *by)
        holds = [each["covers"] for each in some]
        yield line | list_lowest("lowest", holds, [each["set"] for each in some])


LOSSES = Means(CELL, "labels set*", alike="set task reader")
MEASUREMENTS = (
    Measurement("planning-loss", list_cells, compare_losses, LOSSES, 10),
    Measurement("planning-means", list_cells, estimate_means, tabulate, 40),
)
