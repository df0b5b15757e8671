"""Public sets of real readings with human labels: tasks, readers, and two halves of them.

CORDIAL_DATA names a folder with one folder a set, each with a table of readings (``item_id``,
``task``, ``reader`` and a score or a count for every option) and ``labels.csv`` (``item_id``,
``task``, ``label``):

* ``summeval_logits``: summaries, five options, token log-probabilities;
* ``topical_chat_gpt35``: replies in a conversation, three options, twenty sampled ratings;
* ``trec_dl_umbrela``: passages found for a query, four options, one hard rating;
* ``wmt23_esa_users``: translations, seven options, one hard rating.

What is developed on one half of the tasks is confirmed on the other, once.  `EMBEDDED` is a set
too: the tasks of `embedded.py`.
"""

import os
from collections.abc import Collection
from functools import cache
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from embedded import TASKS, load_tasks

from cordial_ppl.data.labelled import Labelled
from cordial_ppl.evaluation.tasks import Task
from cordial_ppl.inference.priors import LearnedPrior, shipped_prior
from cordial_ppl.tables import match_labels, read_labels, read_readings
from cordial_ppl.tables.label_table import LabelTable
from cordial_ppl.tables.reading_table import ReadingTable

FOLDER = "CORDIAL_DATA"
NEEDED = (
    f"{FOLDER} must name a folder with the public sets of readings that benchmarks/real.py lists, "
    "such as the SummEval summaries with option log-probabilities of LLM judges."
)
HALVES = ("development", "confirmation")
EMBEDDED = "embedded"
APART = "CORDIAL_APART"
"""Names the folder of priors that were trained without a set each, `fits` by default; if it is
empty the training is taken back instead."""


class Source(NamedTuple):
    """A set of readings: the readers that are compared, the tasks of each half, held-out texts."""

    readers: tuple[str, ...]
    development: tuple[str, ...]
    confirmation: tuple[str, ...]
    report: int

    @property
    def tasks(self) -> tuple[str, ...]:
        """Of both halves."""
        return self.development + self.confirmation


def list_set(readers: str, development: str, confirmation: str, report: int) -> Source:
    """Make a set of names between spaces."""
    names = [tuple(each.split()) for each in (readers, development, confirmation)]
    return Source(names[0], names[1], names[2], report)


SOURCES = {
    "summeval_logits": list_set(
        "gpt-4o-mini_geval deepseek-r1-distill-qwen-32b qwen2.5 gpt-4o_cot3 gpt-4o_cot5",
        "coherence consistency",
        "fluency relevance",
        1000,
    ),
    "topical_chat_gpt35": list_set(
        "gpt-3.5-turbo_geval gpt-3.5-turbo_rate_explain",
        "coherence naturalness",
        "engagingness",
        230,
    ),
    "trec_dl_umbrela": list_set(
        "gpt-4o_umbrela llama3.2_umbrela", "antique dl20", "dl19 dl21", 1000
    ),
    "wmt23_esa_users": list_set(
        "GEMBA-MQM_gpt4 MetricX-23-QE", "ESA-1 MQM-IAA", "ESA-2 ESA-IAA MQM-1", 600
    ),
}

FURTHER = {
    "hanna": list_set(
        "Beluga-13B_EP1 Mistral-7B_EP2 ChatGPT_EP1",
        "coherence complexity empathy engagement relevance surprise",
        "",
        400,
    ),
    "asap_essays_K5": list_set("gpt-3.5-turbo", "set5 set6", "", 600),
    "wordnorms_gpt4_K7": list_set(
        "gpt-4",
        "glasgow_AoA glasgow_Concreteness glasgow_Familiarity glasgow_Gender glasgow_Imageability "
        "glasgow_Size iconicity",
        "",
        400,
    ),
    "wmt23_mqm": list_set(
        "GEMBA-MQM_gpt4 MetricX-23-QE instructscore_llama7b", "en-de he-en zh-en", "", 1000
    ),
}
"""Sets that the shipped prior is trained on, beside those above."""


class Texts(NamedTuple):
    """A task as one reader reads it.

    Attributes:
        table: its readings.
        rows: those of the texts that have a label.
        labelled: their labels.
    """

    table: ReadingTable
    rows: np.ndarray
    labelled: LabelTable

    @property
    def logits(self) -> np.ndarray:
        """Readings of the texts that have a label."""
        return self.table.logits[self.rows]

    @property
    def labels(self) -> np.ndarray:
        """Their labels."""
        return self.labelled.labels


def folder_of(source: str) -> Path:
    """Folder of a set."""
    return Path(os.environ[FOLDER]) / source


def readings_of(source: str) -> Path:
    """Table of a set's readings."""
    return next(folder_of(source).glob("readings.*"))


def list_sources() -> list[str]:
    """Every set that is there."""
    return sorted(path.parent.name for path in folder_of("").glob("*/labels.csv"))


@cache
def list_pairs(source: str) -> list[tuple[str, str]]:
    """Every task and reader that the readings of a set have, sorted."""
    path = readings_of(source)
    table = pl.scan_csv(path) if path.suffix == ".csv" else pl.scan_parquet(path)
    return table.select("task", "reader").unique().sort("task", "reader").collect().rows()


@cache
def shuffle_pairs(source: str) -> list[tuple[str, str]]:
    """Every task and reader, in the order in which they take their turn."""
    pairs = list_pairs(source)
    return [pairs[row] for row in np.random.default_rng(0).permutation(len(pairs))]


@cache
def read(source: str, task: str, reader: str) -> Texts:
    """All readings of a task and reader, and the labels of texts that have both."""
    table = read_readings(readings_of(source), task=task, reader=reader)
    labels = read_labels(folder_of(source) / "labels.csv", table.scale, task=task)
    labels, rows = match_labels(table, labels.among(table.item_ids))
    return Texts(table, rows, labels)


def load(source: str, task: str, reader: str) -> tuple[np.ndarray, np.ndarray]:
    """Logits and labels of one task and reader, all texts that have both."""
    texts = read(source, task, reader)
    return texts.logits, texts.labels


def mark_passing(labels: np.ndarray, size: int, share: float = 0.5) -> np.ndarray:
    """Mark the highest options, which about a share of the labels has."""
    reached = [np.mean(labels >= option) for option in range(1, size)]
    return np.arange(size) > np.argmin(np.abs(np.array(reached) - share))


def list_names(draw: int = 0) -> list[tuple[str, str]]:
    """Set and task of every task that is compared on, whatever the reader and the draw."""
    return [(source, task) for source, about in SOURCES.items() for task in about.tasks]


def list_tasks(sources: Collection[str] = tuple(SOURCES)) -> list[tuple[str, str, str]]:
    """Set, task and reader of every task that is compared on."""
    made = {EMBEDDED: list_set("main small large other", " ".join(TASKS), "", 0)}
    every = SOURCES | FURTHER | made
    return [(of, *pair) for of in sources for pair in product(every[of].tasks, every[of].readers)]


def half_of(source: str, task: str) -> str:
    """The half that a task is in."""
    return HALVES[task in SOURCES[source].confirmation] if source in SOURCES else ""


@cache
def split_task(source: str, task: str, reader: str) -> Task:
    """A task as one reader reads it: of the texts that all have read, the same are held out."""
    if source == EMBEDDED:
        return load_tasks([task], [reader])[0]
    return next(each for each in split_each(source, task) if each.reader == reader)


@cache
def split_each(source: str, task: str) -> list[Task]:
    """The same of each of the readers that are compared."""
    readers, *_, held_out = (SOURCES | FURTHER)[source]
    tables = [read_readings(readings_of(source), reader=reader, task=task) for reader in readers]
    labels = read_labels(folder_of(source) / "labels.csv", tables[0].scale, task=task)
    labels = labels.among(set.intersection(*(set(table.item_ids) for table in tables)))
    labels, tasks = labels.take(np.random.default_rng(0).permutation(len(labels.item_ids))), []
    for reader, table in zip(readers, tables, strict=True):
        texts = Labelled(table.logits[match_labels(table, labels)[1]], labels.labels)
        report, pool = texts.take(slice(held_out)), texts.take(slice(held_out, None))
        tasks.append(Task(task, reader, table.scale, pool, report))
    return tasks


@cache
def without(source: str) -> LearnedPrior:
    """The prior that comes with the package, without what it knows of one set of readings."""
    whole = shipped_prior()
    return whole.leave_out([task for task in whole.tasks if task.split()[0] == source])


@cache
def trained_without(source: str) -> LearnedPrior:
    """The prior trained without a set, by `ship_prior.py` if need be, in an hour."""
    folder = os.environ.get(APART, "fits")
    if source not in SOURCES | FURTHER or not folder:
        return without(source)
    path = Path(folder, f"without-{source}.cordial")
    if not path.exists():
        import_module("ship_prior").main(["--apart", folder, "--out", f"{folder}/shipped.cordial"])
    return LearnedPrior.load(path)
