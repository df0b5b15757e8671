"""Several annotators a text: which weights their labels should have.

The sets are ``summeval_logits`` (three experts and five crowd raters a text) and
``wmt23_esa_users`` (two or three named annotators a segment).  The same n texts with all their
labels are given to a calibrator in several ways:

* ``mean``: the rounded mean, one label a text;
* ``one``: the label of one annotator, chosen at random for each text;
* ``all``, ``root``, ``share``: every label, with weight 1, m^(-1/2) or 1/m;
* ``unshifted``: as ``share``, without the annotators' shifts: a shift of each is learned from
  out-of-fold predictions, and a label is replaced by what an annotator without a shift would have
  said, a distribution.

Predictions of held-out texts are scored by the mean log loss of a single annotator's label and of
the rounded mean; gains are over the first way.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from measurement import Line, Means, Measurement
from real import folder_of, readings_of, trained_without

import cordial_ppl as cp
from cordial_ppl.channels.user_effects import SHIFT
from cordial_ppl.runtime.arrays import FLOOR
from cordial_ppl.tables import read_readings

HELD_OUT, BUDGETS = 400, (5, 10, 20, 50)
WAYS = {"mean": None, "one": None, "all": 0.0, "root": -0.5, "share": -1.0, "unshifted": -1.0}
"""Ways, and by which power of m the labels of a text are weighed."""


class Panel(NamedTuple):
    """Tasks that the same kind of people have labelled, their readers, how people's names begin."""

    source: str
    tasks: Mapping[str, tuple[str, ...]]
    readers: tuple[str, ...]
    prefix: str = ""


SUMMARIES = {task: (task,) for task in ("coherence", "consistency", "fluency", "relevance")}
JUDGES = "gpt-4o-mini_geval", "deepseek-r1-distill-qwen-32b"
METRICS = "GEMBA-MQM_gpt4", "MetricX-23-QE"
PANELS = {
    "experts": Panel("summeval_logits", SUMMARIES, JUDGES, "expert"),
    "crowd": Panel("summeval_logits", SUMMARIES, JUDGES, "turker"),
    "ESA": Panel("wmt23_esa_users", {"ESA": ("ESA-1", "ESA-2", "ESA-IAA")}, METRICS),
    "MQM": Panel("wmt23_esa_users", {"MQM": ("MQM-1", "MQM-IAA")}, METRICS),
}


class Texts(NamedTuple):
    """Texts of a task as one reader reads them.

    Attributes:
        logits: the readings, ``[n, K]``.
        labels: of m annotators, ``[n, m]``.
        people: who gave them, ``[n, m]``.
        source: their set.
    """

    logits: np.ndarray
    labels: np.ndarray
    people: np.ndarray
    source: str

    def take(self, rows: np.ndarray | slice) -> "Texts":
        """Take some of the texts."""
        return Texts(self.logits[rows], self.labels[rows], self.people[rows], self.source)


@cache
def load(name: str, task: str, reader: str) -> Texts:
    """The texts that every one of a panel's annotators has labelled, in a random order."""
    panel = PANELS[name]
    folder, members = folder_of(panel.source), panel.tasks[task]
    if panel.prefix:
        cells = pl.read_csv(folder / "annotations.csv")
        cells = cells.filter(pl.col("annotator").str.starts_with(panel.prefix))
        cells = cells.rename({"annotator": "person"}).with_columns(of="item_id", each="person")
    else:
        cells = pl.read_csv(folder / "labels.csv").rename({"base_item": "of", "user": "person"})
        cells = cells.with_columns(each="task")
    cells = cells.filter(pl.col("task").is_in(members))
    wide = {
        what: cells.pivot("each", index="of", values=what).drop_nulls().sort("of")
        for what in ("label", "person")
    }
    order = np.random.default_rng(0).permutation(len(wide["label"]))
    items = wide["label"]["of"].to_numpy()[order]
    labels, people = (frame.drop("of").to_numpy()[order] for frame in wide.values())
    first = dict(cells.filter(pl.col("task") == members[0]).select("of", "item_id").rows())
    table = read_readings(readings_of(panel.source), reader=reader, task=members[0])
    row_of = {item: row for row, item in enumerate(table.item_ids)}
    logits = table.logits[[row_of[first[item]] for item in items]]
    return Texts(logits, labels.astype(np.int64), people, panel.source)


def rounded(labels: np.ndarray) -> np.ndarray:
    """The mean label of each text, rounded, halves up."""
    return np.floor(labels.mean(axis=1) + 0.5).astype(np.int64)


def fit(texts: Texts, way: str, seed: int) -> cp.Cordial:
    """Fit the default calibrator to the labels of some texts."""
    (n, m), rng, power = texts.labels.shape, np.random.default_rng(seed), WAYS[way]
    rows, weights = np.arange(n), np.ones(n)
    if power is None:
        labels = rounded(texts.labels)
        if way == "one":
            labels = texts.labels[rows, rng.integers(0, m, n)]
    else:
        rows, labels, weights = np.repeat(rows, m), texts.labels.ravel(), np.full(n * m, m**power)
    calibrator = cp.Cordial(prior=trained_without(texts.source), seed=seed)
    if way == "unshifted" and n >= 8:
        first = fit(texts, "share", int(rng.integers(1000)))
        rows, labels, weights = unshift(texts, first.fit_.out_of_fold, weights)
    return calibrator.fit(texts.logits[rows], labels, sample_weight=weights, texts=rows)


def unshift(texts: Texts, probs: Any, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    """Labels as annotators without a shift would have given them, as distributions."""
    (n, m), size = texts.labels.shape, texts.logits.shape[1]
    labels, people = texts.labels.ravel(), texts.people.ravel().astype(str)
    users = cp.UserShift().fit(probs, labels, people)
    matrices = SHIFT.matrices(np.array([users.values_[name] for name in people]), size)
    # What was said by somebody without a shift, given what was said with it.
    joint = np.maximum(matrices[np.arange(n * m), labels] * probs, 1e-12)
    joint /= joint.sum(axis=1, keepdims=True)
    shared = (joint * weights[:, None]).reshape(n, m, size).sum(axis=1)
    of, option = np.nonzero(shared > 1e-6)
    return of, option, shared[of, option]


def run(draw: int, panel: str, task: str, reader: str, n: int) -> Iterator[Line]:
    """Log losses of held-out texts by each way, and gains over the first."""
    texts = load(panel, task, reader)
    unseen, columns = texts.take(slice(HELD_OUT)), np.arange(HELD_OUT)
    others = np.random.default_rng(draw).choice(len(texts.labels) - HELD_OUT, n, replace=False)
    labelled, first = texts.take(HELD_OUT + others), {}
    for way in WAYS:
        probs = fit(labelled, way, draw).predict_proba(unseen.logits)
        losses = -np.log(np.maximum(probs, FLOOR))
        scores = {
            "single": losses[columns[:, None], unseen.labels].mean(),
            "rounded": losses[columns, rounded(unseen.labels)].mean(),
        }
        for score, loss in scores.items():
            gain = first.setdefault(score, loss) - loss
            yield {"score": score, "way": way, "loss": loss, "gain": gain}


MEASUREMENTS = (
    Measurement(
        "annotators",
        lambda draw: (
            (name, *pair, n)
            for name, panel in PANELS.items()
            for n in BUDGETS
            for pair in product(panel.tasks, panel.readers)
        ),
        run,
        Means("set task reader texts", "score set* texts* way", alike="set texts"),
        4,
    ),
)
