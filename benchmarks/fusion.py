"""What several readers together gain over one of them, and over other ways to combine them.

The embedded benchmark (four tasks, four readers of the same texts), and real readings:
``summeval_logits`` (see real.py; five readers, two of them poor), ``wmt23_esa_users`` (eight
readers with hard ratings), and two readers of the former, of which one is noise.  Every method
sees the same labels and is scored on the same texts: log loss, and the fusion's gain over it.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from embedded import TASKS, benchmark
from measurement import Line, Means, Measurement
from real import EMBEDDED, SOURCES, folder_of, readings_of, trained_without
from rivals import LogitFusion, average_reading, leave_out_joint, predict_concatenated

import cordial_ppl as cp
from cordial_ppl.estimators.fusion.panel import read_by
from cordial_ppl.stack.entering import enter, predict
from cordial_ppl.tables import match_labels, read_labels, read_several

READERS = (
    *("gpt-4o-mini_geval", "deepseek-r1-distill-qwen-32b"),
    *("qwen2.5", "gpt-4o_cot1", "gpt-4o_cot3"),
)
SUMMEVAL, WMT = "summeval_logits", "wmt23_esa_users"
TEST = 800
FEW = range(2)
"""Draws of real sets with Dirichlet calibration of all readings at once: it takes a minute."""


class Texts(NamedTuple):
    """One task as all readers read it: texts to draw labels from, and texts to be scored on."""

    pool: np.ndarray
    labels: np.ndarray
    report: np.ndarray
    truth: np.ndarray
    readers: tuple[str, ...]


def load(source: str, task: str, draw: int, shuffled: bool = False) -> Texts:
    """The texts of a task, those to draw labels from in the order of a draw.

    With one of noise there are two readers: the first, and the second with its readings shuffled.
    """
    if source == EMBEDDED:
        made = benchmark(task)
        logits = np.stack(list(made.logits.values()), axis=1)
        pool, scored = made.rows("calibration"), made.rows("report")
        labels, names = made.labels, tuple(made.logits)
    else:
        readers = READERS if source == SUMMEVAL else None
        table = read_several([readings_of(source)], readers=readers, task=task)
        labelled = read_labels(folder_of(source) / "labels.csv", table.scale, task=task)
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


def compare(
    texts: Texts, draw: int, n: int, prior: Any = None, paper: bool = False, joined: bool = True
) -> dict[str, np.ndarray]:
    """Per-text losses of every method with n labels; the draw is the seed.

    `prior`: the fusion's, if not the default; `paper`: fusion, stacks and logit stacks are the
    paper's; `joined`: all readings are calibrated at once too.
    """
    logits, labels = texts.pool[:n], texts.labels[:n]
    whole = bool(read_by(texts.pool).all() and read_by(texts.report).all())
    names: dict[str, Any] = {"readers": texts.readers, "seed": draw}
    literal: dict[str, Any] = {"average": False, "weight_counts": 1.0} if paper else {}
    fusion = cp.Fusion.paper(**names) if paper else cp.Fusion(**names, prior=prior)
    fusion.fit(logits, labels)
    mean = cp.RawReading().fit(average_reading(texts.pool))
    alone = LogitFusion(**names, **literal).fit(logits, labels)
    predictions = {
        "fusion": fusion.predict_proba(texts.report),
        "without channels": alone.predict_proba(texts.report),
        "average reading": mean.predict_proba(average_reading(texts.report)),
    }
    if whole:
        apart = leave_out_joint(fusion.fit_)
        predictions["without joint channel"] = predict(apart, enter(apart, texts.report))[0]
    if whole and joined:
        predictions["Dirichlet of all"] = predict_concatenated(logits, labels, texts.report)
    for index, name in enumerate(texts.readers):
        if read_by(texts.report)[:, index].all():
            stack = fusion.fit_.fits[name]
            entered = enter(stack, texts.report[:, index])
            predictions[f"reader {name}"] = predict(stack, entered)[0]
    best = f"reader {fusion.best_reader_}"
    if best in predictions:
        predictions["best reader by CV"] = predictions[best]
    return {k: cp.scores.log_loss(v, texts.truth, per_text=True) for k, v in predictions.items()}


def run(draw: int, source: str, task: str, n: int, shuffled: bool = False) -> Iterator[Line]:
    """Mean loss of every method, and the gain of the fusion over it."""
    # The default prior without what it knows of these very readings.
    prior, joined = trained_without(source), draw in FEW and source != EMBEDDED
    losses = compare(load(source, task, draw, shuffled), draw, n, prior, joined=joined)
    for name, loss in losses.items():
        yield {"method": name, "log loss": loss.mean(), "gain": (loss - losses["fusion"]).mean()}


def describe(
    name: str, source: str, tasks: Sequence[str], budgets: Sequence[int], draws: int, **how: Any
) -> Measurement:
    """Describe a measurement of one set."""
    return Measurement(
        f"fusion-{name}",
        lambda draw: product([source], tasks, budgets),
        partial(run, **how),
        Means("set task labels", "labels* task* method", alike="task labels"),
        draws,
        needs_data=source != EMBEDDED,
    )


MEASUREMENTS = (
    describe("embedded", EMBEDDED, tuple(TASKS), (5, 10, 20, 50, 100, 200, 500), 3),
    describe("summaries", SUMMEVAL, SOURCES[SUMMEVAL].tasks, (20, 100), 5),
    describe("shuffled", SUMMEVAL, SOURCES[SUMMEVAL].tasks, (20, 100), 3, shuffled=True),
    describe("wmt", WMT, SOURCES[WMT].tasks, (20, 100), 5),
)
