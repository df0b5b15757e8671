"""Tasks of a sweep: texts to draw labels from, and others to score methods on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from cordial_ppl.channels.channel import Channel
from cordial_ppl.data.checks import check_seed
from cordial_ppl.data.labelled import Labelled, label_readings
from cordial_ppl.data.readings import as_logits
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError
from cordial_ppl.estimators.task_tables import read_pairs, take_labelled

SPLIT, DRAW = 0, 1
"""Streams of random numbers: which texts are scored, and which are labelled."""

REPORT = 1000


@dataclass(frozen=True, eq=False)
class Task:
    """One judge's readings of the labelled texts of a task.

    Attributes:
        name: name of the task; tasks of one name and seed have the same texts labelled.
        reader: name of the judge.
        scale: the options.
        pool: texts that labels are drawn from.
        report: texts that methods are scored on.
        seed: seed of the labelled subsets and of the fits.
    """

    name: str
    reader: str
    scale: Scale
    pool: Labelled
    report: Labelled
    seed: int = 0


def split_task(
    name: str | tuple[str, str],
    logits: Any,
    labels: Any,
    report: int = REPORT,
    *,
    covariates: Mapping[str, Any] | None = None,
    options: Sequence[str] | Scale | None = None,
    seed: int = 0,
) -> Task:
    """Divide labelled texts at random into those to score methods on and a pool to label from.

    Args:
        name: name of the task, or of task and judge.
        logits: option logits of the texts, shape ``[n, K]``.
        labels: their options, as names or 0..K-1, shape ``[n]``.
        report: number of texts to score methods on.
        covariates: per-text covariates of the channels that use them, each of shape ``[n]``.
        options: names of the K options; by default 0..K-1.
        seed: seed of the division, of the labelled subsets and of the fits.

    Raises:
        InputError: readings, labels or covariates are not as a fit takes them, or ``report``
            leaves no text to label.
    """
    name, reader = (name, "reader") if isinstance(name, str) else name
    readings = as_logits(logits)
    scale = Scale.of(options, readings.shape[1])
    texts, count = label_readings(logits, readings, labels, scale, covariates), len(readings)
    if not 0 < report < count:
        raise InputError(
            f"task {name!r} has {count} labelled texts, but report={report}. Choose a number "
            f"from 1 to {count - 1}; labels are drawn from the texts that are not scored."
        )
    order = np.random.default_rng([check_seed(seed), SPLIT]).permutation(count)
    scored, rest = np.split(order, [report])
    return Task(name, reader, scale, texts.take(rest), texts.take(scored), seed)


def read_tasks(
    readings: Path,
    labels: Path,
    report: int | None = None,
    *,
    reader: str | None = None,
    task: str | None = None,
    channels: Sequence[str | Path | Channel] = (),
    seed: int = 0,
    **columns: Any,
) -> list[Task]:
    """Read the tasks of two tables, as each judge reads them.

    Args:
        readings: table of readings.
        labels: table of labels.
        report: number of labelled texts to score methods on; by default 1,000, or half if fewer.
        reader: the judge; by default every judge of the table.
        task: the task; by default every one; named after the file where no column names tasks.
        channels: channels whose covariates are read too.
        seed: as of ``split_task``.
        columns: further arguments of ``read_labelled``.

    Raises:
        FileError: a table cannot be read.
        InputError: a table is not as it must be, judges have read different labelled texts, or
            ``report`` leaves no text to label.
    """
    chosen = {"reader": [reader] if reader else (), "task": [task] if task else ()}
    tasks, first = [], dict[str, set[str]]()
    read = read_pairs([readings, labels], of="a sweep", **chosen, **columns)
    for (name, by), labelled in read.items():
        items = {*labelled.labels.item_ids}
        if odd := first.setdefault(name, items) ^ items:
            raise InputError(
                f"{readings}: all judges must rate the same labelled texts, but only some judges "
                f"rated {min(odd)!r}. Choose one judge, or keep only texts that all judges rated."
            )
        part, count = take_labelled(labelled, channels), len(labelled.rows)
        scored = (REPORT if count > REPORT else count // 2) if report is None else report
        both, texts = (name, by or "reader"), (part["logits"], part["labels"])
        rest = {"options": labelled.readings.scale, "seed": seed}
        tasks.append(split_task(both, *texts, scored, covariates=part["covariates"], **rest))
    return tasks


def draw_subsets(task: Task, n: int, draws: int) -> Int[np.ndarray, "S n"]:
    """Draw the rows of the pool that are labelled: the first n of a random order for each draw.

    They are the same for every method and for every judge of a task, and smaller subsets are
    parts of larger ones.
    """
    size, name = len(task.pool.labels), int.from_bytes(task.name.encode(), "little")
    seeds = ([task.seed, DRAW, draw, name] for draw in range(draws))
    return np.stack([np.random.default_rng(seed).permutation(size)[:n] for seed in seeds])
