"""Log loss on real readings: the paper's stack, the default, and others.

Every stack sees the same labels and is scored on the same held-out texts.  A learned prior is of
other sets alone; that of the default is trained on other sets alone, by `ship_prior.py --apart`,
which comes first.  For each number of labels: the gain in nats over the paper's stack with one
pseudo-count a member, in how many pairs of task and reader it gains or loses clearly, the worst
pair, and the loss beyond the label histogram's; and by how much the loss that a fit of the default
expects exceeds the one that comes, luck with the labels taken out.  The same on tasks that are made
of these, with options that nobody uses, labels in two heaps or readings that say nothing
(`spoiling.py`), and what changes if the other end of the scale comes first.

    CORDIAL_DATA=path python benchmarks/results.py accuracy accuracy-expected
    CORDIAL_DATA=path python benchmarks/results.py accuracy-made accuracy-reversed
    python benchmarks/results.py accuracy-embedded
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from measurement import Key, Line, Means, Measurement
from real import (
    EMBEDDED,
    FURTHER,
    SOURCES,
    half_of,
    list_tasks,
    split_task,
    trained_without,
    without,
)
from spoiling import KINDS, make

import cordial_ppl as cp
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.smoothing import smooth_histogram
from cordial_ppl.estimators.subsets import BatchFit, fit_subsets
from cordial_ppl.evaluation.tasks import draw_subsets
from cordial_ppl.inference.priors.sources import NamedPrior, Priors
from cordial_ppl.scores import log_loss
from cordial_ppl.stack.settings import PAPER_CALIBRATORS
from cordial_ppl.stack.stacking import MIN_LABELS

FEW, MANY = (5, 10, 20, 50, 100), (200, 500, 1000, 2000)
CELL = "labels set task reader"
REFERENCE, CAUTIOUS = "the paper, one count", "cautious prior, no tilt"
EVERY = 10
"""Of so many pairs of task and reader one is made into a kind of task."""
AMONG_MADE = REFERENCE, "default", "logit stack"


def list_stacks(source: str) -> dict[str, Any]:
    """List what is compared on a set, unfitted."""
    trained, plain = trained_without(source), partial(cp.Cordial, calibrators=PAPER_CALIBRATORS)
    cautious = without(source).with_rule(name="cautious")
    # A pseudo-count that is not the default needs no proof.
    sure = {k: v + 1e-9 for k, v in plain(prior="own").settings.weight_counts.items()}
    untilted = Priors({"bridge": NamedPrior({"tilt": (-9.0, 0.05)}, cautious)}, learned=cautious)
    return {
        REFERENCE: cp.Cordial.paper(),
        "the paper, flat": cp.Cordial.paper(weights="flat"),
        "default": cp.Cordial(prior=trained),
        CAUTIOUS: plain(prior=untilted, weight_counts=sure),
        "logit stack": cp.LogitStack(),
        "Dirichlet calibration": cp.DirichletCalibration(),
    }


def run(draw: int, n: int, source: str, name: str, reader: str) -> dict[str, Any]:
    """Fit every stack to n labels of a task; nothing where there are fewer."""
    task = split_task(source, name, reader)
    if n > len(task.pool.labels):
        return {"stacks": [], "expected": []}
    rows, truth = draw_subsets(task, n, draw + 1)[draw], task.report.labels
    losses = score(list_stacks(source), task.pool, rows, draw, task.report)
    labelled = task.pool.take(rows)
    histogram, expected = smooth_histogram(labelled.labels, task.scale.size), []
    if n >= MIN_LABELS:
        fitted = cp.Cordial(prior=trained_without(source), seed=draw)
        fitted.fit(labelled.logits, labelled.labels)
        excess = fitted.fit_.expected.cordial - losses["default"]
        expected = [
            {"expected less realised": excess - measure_luck(source, name, reader)[rows].mean()}
        ]
    return {
        "stacks": [
            {"stack": stack, "half": half_of(source, name), "loss": loss}
            | {"gain": losses[REFERENCE] - loss, "gain over it": losses[CAUTIOUS] - loss}
            | {"beyond the histogram": loss + np.log(histogram)[truth].mean()}
            for stack, loss in losses.items()
        ],
        "expected": expected,
    }


def score(
    stacks: Mapping[str, Any], pool: Labelled, rows: np.ndarray, draw: int, report: Labelled
) -> dict[str, float]:
    """Log loss of stacks that are fitted to some rows of a pool."""
    losses = {}
    for name, fit in fit_subsets(stacks, pool, rows[None], [draw], report).items():
        if not isinstance(fit, BatchFit):
            raise fit
        losses[name] = float(log_loss(fit.probs[0], report.labels))
    return losses


def run_made(draw: int, n: int, kind: str, source: str, name: str, reader: str) -> list[Line]:
    """Fit some stacks to n labels of a task that is made of a real one."""
    task, rng = split_task(source, name, reader), np.random.default_rng(draw)
    pool, report = (make(part, kind, rng) for part in (task.pool, task.report))
    if n > len(pool.labels):
        return []
    rows = draw_subsets(task, n, draw + 1)[draw]
    chosen = {k: v for k, v in list_stacks(source).items() if k in AMONG_MADE}
    losses = score(chosen, pool, rows, draw, report)
    histogram = smooth_histogram(pool.labels[rows], pool.logits.shape[1])
    losses["histogram"] = -np.log(histogram)[report.labels].mean()
    default = losses["default"]
    return [
        {"stack": stack, "loss": loss, "default's gain over it": loss - default}
        for stack, loss in losses.items()
    ]


def run_reversed(draw: int, n: int, source: str, name: str, reader: str) -> Line | list[Line]:
    """Fit the default to n labels of a scale, and of the same scale read from its other end."""
    task = split_task(source, name, reader)
    if n > len(task.pool.labels):
        return []
    labelled, truth = task.pool.take(draw_subsets(task, n, draw + 1)[draw]), task.report.labels
    top = task.scale.size - 1

    def predict(seed: int, step: int = 1) -> np.ndarray:
        labels = labelled.labels if step > 0 else top - labelled.labels
        default = cp.Cordial(prior=trained_without(source), seed=seed)
        default.fit(labelled.logits[:, ::step], labels)
        return default.predict_proba(task.report.logits[:, ::step])[:, ::step]

    forward, other, back = predict(draw), predict(draw + 1), predict(draw, -1)
    return {
        "reversed less forward": float(log_loss(back, truth) - log_loss(forward, truth)),
        "largest change": float(np.abs(back - forward).max()),
        "by another seed": float(np.abs(other - forward).max()),
    }


@cache
def measure_luck(source: str, name: str, reader: str) -> np.ndarray:
    """Loss of a calibrator with many labels on each text of the pool, less that on the report."""
    task = split_task(source, name, reader)
    pool, report = task.pool, task.report
    fitted = cp.VectorScaling(list(range(task.scale.size))).fit(
        np.concatenate([pool.logits, report.logits]), np.concatenate([pool.labels, report.labels])
    )
    losses = (
        log_loss(fitted.predict_proba(part.logits), part.labels, per_text=True)
        for part in (pool, report)
    )
    return next(losses) - next(losses).mean()


def describe(name: str, sources: Sequence[str], budgets: Sequence[int], draws: int) -> Measurement:
    """Describe a measurement of some sets."""

    def list_cells(draw: int) -> Iterator[Key]:
        return ((n, *pair) for n in budgets for pair in list_tasks(sources))

    table = Means(
        CELL,
        "labels half* set* stack",
        alike="set task reader",
        lowest=("gain", "gain over it"),
        highest=("beyond the histogram",),
        resolved=("gain",),
        part="stacks",
    )
    return Measurement(f"accuracy{name}", list_cells, run, table, draws, sources != (EMBEDDED,))


LEFT_OUT = describe("", (*SOURCES, *FURTHER), FEW, 2)
MEASUREMENTS = (
    LEFT_OUT,
    describe("-many", tuple(SOURCES), MANY, 2),
    describe("-embedded", (EMBEDDED,), FEW, 3),
    LEFT_OUT._replace(
        name="accuracy-expected",
        tabulate=Means(CELL, "labels", alike="set task reader", part="expected"),
        kept_as=LEFT_OUT.name,
    ),
    Measurement(
        "accuracy-reversed",
        lambda draw: ((n, *pair) for n in (10, 20) for pair in list_tasks((*SOURCES, *FURTHER))),
        run_reversed,
        Means(CELL, "labels", alike="set task reader"),
        2,
    ),
    Measurement(
        "accuracy-made",
        lambda draw: (
            (n, kind, *pair)
            for n in (5, 20)
            for number, kind in enumerate(KINDS)
            for pair in list_tasks((*SOURCES, *FURTHER))[number % EVERY :: EVERY]
        ),
        run_made,
        Means(
            "labels kind set task reader",
            "labels kind* stack",
            alike="set task reader",
            lowest=("default's gain over it",),
        ),
        2,
    ),
)
