"""Several annotators a text: which weights their labels should have.

Needs the sets ``summeval_logits`` (three experts and five crowd raters a text) and
``wmt23_esa_users`` (two or three named annotators a segment), and CORDIAL_DATA to name their folder
(benchmarks/real.py).  The same n texts with all their labels are given to a calibrator in several
ways:

* ``mean``, ``median``: the rounded mean or the median, one label a text;
* ``one``: the label of one annotator, chosen at random for each text;
* ``all``, ``root``, ``share``: every label, with weight 1, m^(-1/2) or 1/m;
* ``effect``: every label, weighted by one over Kish's design effect, 1 + (m - 1) r, where r is the
  intraclass correlation of these labels;
* ``unshifted``: as ``share``, without the annotators' shifts: a shift of each is learned from
  out-of-fold predictions, and a label is replaced by what an annotator without a shift would have
  said, a distribution.

Predictions of held-out texts are scored by the mean log loss of a single annotator's label and of
the rounded mean.  Printed are losses, and gains over the first way with 95 % intervals (paired
bootstrap over texts and draws; a task's readers are resampled together).

    CORDIAL_DATA=path python benchmarks/annotators.py --panels experts --texts 5 10 20
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars
from real import FOLDER, NEEDED

import cordial_ppl as cp
from cordial_ppl.channels.user_effects import SHIFT
from cordial_ppl.errors import CordialWarning
from cordial_ppl.runtime.arrays import FLOOR
from cordial_ppl.scores import paired_bootstrap
from cordial_ppl.tables import read_readings

HELD_OUT = 400


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
        name: task and reader.
        task: the task.
        logits: the readings, ``[n, K]``.
        labels: of m annotators, ``[n, m]``.
        people: who gave them, ``[n, m]``.
    """

    name: str
    task: str
    logits: np.ndarray
    labels: np.ndarray
    people: np.ndarray


Rows = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Texts, labels and weights of the rows that a calibrator is fitted to."""


def main() -> None:
    """Fit, predict and compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--panels", nargs="+", choices=list(PANELS), default=list(PANELS))
    parser.add_argument("--texts", type=int, nargs="+", default=[5, 10, 20, 50])
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("annotators.json"))
    args = parser.parse_args()
    if not os.environ.get(FOLDER):
        parser.error(NEEDED)
    warnings.simplefilter("ignore", CordialWarning)
    rows, start = [], time.perf_counter()
    for panel in args.panels:
        every = list(load(PANELS[panel]))
        for n in args.texts:
            losses = {texts.name: measure(texts, n, args) for texts in every}
            rows += report(panel, n, every, losses, args.ways)
            print(f"({time.perf_counter() - start:.0f} s)", flush=True)
            args.out.write_text(json.dumps({"settings": vars(args), "rows": rows}, default=str))


def load(panel: Panel) -> Iterator[Texts]:
    """The texts that every one of the panel's annotators has labelled, in a random order."""
    folder = Path(os.environ[FOLDER]) / panel.source
    if panel.prefix:
        cells = polars.read_csv(folder / "annotations.csv")
        cells = cells.filter(polars.col("annotator").str.starts_with(panel.prefix))
        cells = cells.rename({"annotator": "person"}).with_columns(of="item_id", each="person")
    else:
        cells = polars.read_csv(folder / "labels.csv").rename({"base_item": "of", "user": "person"})
        cells = cells.with_columns(each="task")
    for task, members in panel.tasks.items():
        panel_cells = cells.filter(polars.col("task").is_in(members))
        wide = {
            what: panel_cells.pivot("each", index="of", values=what).drop_nulls().sort("of")
            for what in ("label", "person")
        }
        order = np.random.default_rng(0).permutation(len(wide["label"]))
        items = wide["label"]["of"].to_numpy()[order]
        labels, people = (frame.drop("of").to_numpy()[order] for frame in wide.values())
        first = dict(
            panel_cells.filter(polars.col("task") == members[0]).select("of", "item_id").rows()
        )
        for reader in panel.readers:
            table = read_readings(next(folder.glob("readings.*")), reader=reader, task=members[0])
            row_of = {item: row for row, item in enumerate(table.item_ids)}
            logits = table.logits[[row_of[first[item]] for item in items]]
            yield Texts(f"{task} {reader}", task, logits, labels.astype(np.int64), people)


def rounded(labels: np.ndarray) -> np.ndarray:
    """The mean label of each text, rounded, halves up."""
    return np.floor(labels.mean(axis=1) + 0.5).astype(np.int64)


def by_text(function: Callable[[np.ndarray], np.ndarray]) -> Callable[..., Rows]:
    """One label a text."""

    def rows(texts: Texts, rng: np.random.Generator) -> Rows:
        labels = function(texts.labels)
        return np.arange(len(labels)), labels, np.ones(len(labels))

    return rows


def by_label(weight: Callable[[np.ndarray], float]) -> Callable[..., Rows]:
    """All labels of a text, of one weight."""

    def rows(texts: Texts, rng: np.random.Generator) -> Rows:
        n, m = texts.labels.shape
        return (
            np.repeat(np.arange(n), m),
            texts.labels.ravel(),
            np.full(n * m, weight(texts.labels)),
        )

    return rows


def pick_one(texts: Texts, rng: np.random.Generator) -> Rows:
    """One of the labels of each text."""
    n, m = texts.labels.shape
    return np.arange(n), texts.labels[np.arange(n), rng.integers(0, m, n)], np.ones(n)


def correlation(labels: np.ndarray) -> float:
    """Intraclass correlation of labels, one-way analysis of variance (Fisher 1925), 0..1."""
    n, m = labels.shape
    between = m * labels.mean(axis=1).var(ddof=1)
    within = labels.var(axis=1, ddof=1).mean()
    total = between + (m - 1) * within
    return float(np.clip((between - within) / total, 0, 1)) if total else 1.0


def unshift(texts: Texts, rng: np.random.Generator) -> Rows:
    """Labels as annotators without a shift would have given them, as distributions."""
    (n, m), size = texts.labels.shape, texts.logits.shape[1]
    rows, labels, weights = WAYS["share"](texts, rng)
    if n < 8:
        return rows, labels, weights
    first = fit(texts, (rows, labels, weights), int(rng.integers(1000)))
    people = texts.people.ravel().astype(str)
    users = cp.UserShift().fit(first.fit_.out_of_fold, labels, people)
    matrices = SHIFT.matrices(np.array([users.values_[name] for name in people]), size)
    # What was said by somebody without a shift, given what was said with it.
    joint = matrices[np.arange(n * m), labels] * first.fit_.out_of_fold
    joint = np.maximum(joint, 1e-12)
    joint /= joint.sum(axis=1, keepdims=True)
    shared = (joint * weights[:, None]).reshape(n, m, size).sum(axis=1)
    of, option = np.nonzero(shared > 1e-6)
    return of, option, shared[of, option]


WAYS: dict[str, Callable[[Texts, np.random.Generator], Rows]] = {
    "mean": by_text(rounded),
    "median": by_text(lambda labels: np.sort(labels, axis=1)[:, labels.shape[1] // 2]),
    "one": pick_one,
    "all": by_label(lambda labels: 1.0),
    "root": by_label(lambda labels: labels.shape[1] ** -0.5),
    "share": by_label(lambda labels: 1 / labels.shape[1]),
    "effect": by_label(lambda labels: 1 / (1 + (labels.shape[1] - 1) * correlation(labels))),
    "unshifted": unshift,
}


def fit(texts: Texts, rows: Rows, seed: int) -> cp.Cordial:
    """Fit the default calibrator."""
    of, labels, weights = rows
    return cp.Cordial(seed=seed).fit(texts.logits[of], labels, sample_weight=weights, texts=of)


def measure(texts: Texts, n: int, args: argparse.Namespace) -> dict[str, dict[str, np.ndarray]]:
    """Log losses of held-out texts by each way, ``[draws, texts]``."""
    unseen = texts._replace(
        logits=texts.logits[:HELD_OUT],
        labels=texts.labels[:HELD_OUT],
        people=texts.people[:HELD_OUT],
    )
    results: dict[str, dict[str, list]] = {way: {"single": [], "rounded": []} for way in args.ways}
    columns = np.arange(HELD_OUT)
    for draw in range(args.draws):
        rng = np.random.default_rng(draw)
        some = HELD_OUT + rng.choice(len(texts.labels) - HELD_OUT, n, replace=False)
        labelled = Texts(*texts[:2], texts.logits[some], texts.labels[some], texts.people[some])
        for way in args.ways:
            rows = WAYS[way](labelled, np.random.default_rng(draw))
            probs = fit(labelled, rows, draw).predict_proba(unseen.logits)
            losses = -np.log(np.maximum(probs, FLOOR))
            each = losses[columns[:, None], unseen.labels].mean(axis=1)
            results[way]["single"].append(each)
            results[way]["rounded"].append(losses[columns, rounded(unseen.labels)])
    return {
        way: {what: np.stack(x) for what, x in labelled.items()}
        for way, labelled in results.items()
    }


def report(
    panel: str, n: int, every: list[Texts], results: Mapping[str, Any], ways: list[str]
) -> list[dict[str, Any]]:
    """Print and return the losses and gains of each way."""
    rows, tasks = (
        [],
        {
            task: [t.name for t in every if t.task == task]
            for task in dict.fromkeys(texts.task for texts in every)
        },
    )
    print(f"\n{panel}, {n} texts, {len(every)} pairs of task and reader")
    for what in ("single", "rounded"):
        for way in ways:
            loss = float(np.mean([losses[way][what].mean() for losses in results.values()]))
            means, widths = [], []
            for names in tasks.values():
                gain = np.mean(
                    [results[name][ways[0]][what] - results[name][way][what] for name in names],
                    axis=0,
                )
                interval = paired_bootstrap(gain, draws=2000)
                means.append(interval.mean)
                widths.append((interval.upper - interval.lower) / 2)
            mean, half = float(np.mean(means)), float(np.linalg.norm(widths)) / len(means)
            print(f"  {what:8} {way:10} {loss:.4f}  {mean:+.4f} ± {half:.4f}")
            rows.append(
                {"panel": panel, "n": n, "score": what, "way": way, "loss": loss}
                | {"gain": mean, "half": half}
            )
    return rows


if __name__ == "__main__":
    main()
