"""Public sets of real readings with human labels: tasks, readers, and two halves of them.

CORDIAL_DATA names a folder with one folder a set, each with a table of readings (``item_id``,
``task``, ``reader`` and a score or a count for every option) and ``labels.csv`` (``item_id``,
``task``, ``label``):

* ``summeval_logits``: summaries, five options, token log-probabilities;
* ``topical_chat_gpt35``: replies in a conversation, three options, twenty sampled ratings;
* ``trec_dl_umbrela``: passages found for a query, four options, one hard rating;
* ``wmt23_esa_users``: translations, seven options, one hard rating.

What is developed on one half of the tasks is confirmed on the other, once.  `load_embedded` gives
the tasks of `embedded.py` in the same form.
"""

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from embedded import load_tasks

from cordial_ppl.data.labelled import Labelled
from cordial_ppl.evaluation.tasks import Task
from cordial_ppl.tables import match_labels, read_labels, read_readings

FOLDER = "CORDIAL_DATA"
NEEDED = (
    f"{FOLDER} must name a folder with the public sets of readings that benchmarks/real.py lists, "
    "such as the SummEval summaries with option log-probabilities of LLM judges."
)
HALVES = ("development", "confirmation")
EMBEDDED = "embedded"


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


SOURCES: dict[str, Source] = {
    "summeval_logits": Source(
        (
            "gpt-4o-mini_geval",
            "deepseek-r1-distill-qwen-32b",
            "qwen2.5",
            "gpt-4o_cot3",
            "gpt-4o_cot5",
        ),
        ("coherence", "consistency"),
        ("fluency", "relevance"),
        1000,
    ),
    "topical_chat_gpt35": Source(
        ("gpt-3.5-turbo_geval", "gpt-3.5-turbo_rate_explain"),
        ("coherence", "naturalness"),
        ("engagingness",),
        230,
    ),
    "trec_dl_umbrela": Source(
        ("gpt-4o_umbrela", "llama3.2_umbrela"), ("antique", "dl20"), ("dl19", "dl21"), 1000
    ),
    "wmt23_esa_users": Source(
        ("GEMBA-MQM_gpt4", "MetricX-23-QE"),
        ("ESA-1", "MQM-IAA"),
        ("ESA-2", "ESA-IAA", "MQM-1"),
        600,
    ),
}

FURTHER: dict[str, Source] = {
    "hanna": Source(
        ("Beluga-13B_EP1", "Mistral-7B_EP2", "ChatGPT_EP1"),
        ("coherence", "complexity", "empathy", "engagement", "relevance", "surprise"),
        (),
        400,
    ),
    "asap_essays_K5": Source(("gpt-3.5-turbo",), ("set5", "set6"), (), 600),
    "wordnorms_gpt4_K7": Source(
        ("gpt-4",),
        (
            "glasgow_AoA",
            "glasgow_Concreteness",
            "glasgow_Familiarity",
            "glasgow_Gender",
            "glasgow_Imageability",
            "glasgow_Size",
            "iconicity",
        ),
        (),
        400,
    ),
    "wmt23_mqm": Source(
        ("GEMBA-MQM_gpt4", "MetricX-23-QE", "instructscore_llama7b"),
        ("en-de", "he-en", "zh-en"),
        (),
        1000,
    ),
}
"""Sets that the shipped prior is trained on, beside those above."""


class Pair(NamedTuple):
    """A task as one reader reads it."""

    source: str
    half: str
    reading: Task

    @property
    def name(self) -> str:
        """What results call it."""
        return f"{self.source} {self.reading.name} {self.reading.reader}"


def load(source: str, task: str, reader: str) -> tuple[np.ndarray, np.ndarray]:
    """Logits and labels of one task and reader, all texts that have both."""
    folder = Path(os.environ[FOLDER]) / source
    readings = read_readings(next(folder.glob("readings.*")), task=task, reader=reader)
    labels = read_labels(folder / "labels.csv", readings.scale, task=task)
    labels, rows = match_labels(readings, labels)
    return readings.logits[rows], labels.labels


def load_pairs(sources: Collection[str] = tuple(SOURCES)) -> list[Pair]:
    """Every task and reader."""
    return [
        Pair(name, half, reading)
        for name in sources
        for half in HALVES
        for task in getattr((SOURCES | FURTHER)[name], half)
        for reading in load_task(name, task)
    ]


def load_embedded() -> list[Pair]:
    """Every task of the built-in benchmark and its readers, which belong to no half."""
    return [Pair(EMBEDDED, EMBEDDED, task) for task in load_tasks()]


def load_task(source: str, task: str) -> Iterator[Task]:
    """A task as each reader reads it: of the texts that all have read, the same are held out."""
    folder, (readers, *_, held_out) = (
        Path(os.environ[FOLDER]) / source,
        (SOURCES | FURTHER)[source],
    )
    path = next(folder.glob("readings.*"))
    tables = [read_readings(path, reader=reader, task=task) for reader in readers]
    labels = read_labels(folder / "labels.csv", tables[0].scale, task=task)
    common = set.intersection(*(set(table.item_ids) for table in tables))
    items = [
        (item, k) for item, k in zip(labels.item_ids, labels.labels, strict=True) if item in common
    ]
    order = np.random.default_rng(0).permutation(len(items))
    names, truth = (
        np.array([items[row][0] for row in order]),
        np.array([k for _, k in items])[order],
    )
    for reader, table in zip(readers, tables, strict=True):
        row_of = {item: row for row, item in enumerate(table.item_ids)}
        logits = table.logits[[row_of[item] for item in names]]
        first, rest = slice(held_out), slice(held_out, None)
        yield Task(
            task,
            reader,
            table.scale,
            Labelled(logits[rest], truth[rest]),
            Labelled(logits[first], truth[first]),
        )
