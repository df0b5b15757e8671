"""Matching: labels and the readings of their texts, and tables that hold labels already."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
from jaxtyping import Int64

from cordial_ppl.data.numerals import is_missing, parse_number
from cordial_ppl.data.scale import OTHER_SCALE, Scale
from cordial_ppl.errors import (
    FileError,
    InputError,
    SettingNeeded,
    abridge,
    as_path,
    count,
    list_names,
    quote,
    warn,
)
from cordial_ppl.tables.choices import CHOICE, Choice, key_rows
from cordial_ppl.tables.columns import FIXED, list_distinct, list_filled, named
from cordial_ppl.tables.formats import read_columns
from cordial_ppl.tables.frame import Columns
from cordial_ppl.tables.label_table import LabelledReadings, LabelTable, read_labels
from cordial_ppl.tables.provenance import read_provenance, warn_of_models
from cordial_ppl.tables.reading_table import ReadingTable, read_readings
from cordial_ppl.tables.roles import PLACEHOLDER, spell

INSTEAD = "Pass a table of labels as well, or name the column of labels"
"""What to do where one table is not both."""

COPIED = 8
"""Labels from which on it is told that all of them equal the ratings."""


def read_labelled(
    readings: Path,
    labels: Path,
    *,
    sparse: bool = False,
    read: Callable[..., ReadingTable] = read_readings,
    **chosen: Any,
) -> LabelledReadings:
    """Read readings and labels, and find the reading of each labelled text.

    Args:
        readings: The table of readings.
        labels: The table of labels.
        sparse: Whether the reader may have read few of the labelled texts, as others did.
        read: Reads the readings by their path and what is chosen.
        chosen: Fields of `Choice`. In one table of both, columns of ratings and of labels are kept
            apart.

    Returns:
        The readings, and the labels of texts that have one.

    Raises:
        InputError: As `read_readings`, `read_labels` and `match_labels` raise; or readings and
            labels are of different tasks.
    """
    choice = Choice(**chosen)
    rating, label = choice.rating, choice.label or ["label"]
    rated, told = [*choice.apart], [*choice.apart]
    if same := as_path(readings).resolve() == as_path(labels).resolve():
        if rating in label:
            problem = f"{readings}: column {rating!r} cannot contain both ratings and labels."
            raise InputError(problem)
        rated += filter(None, (*label, choice.annotator))
        told += filter(None, (rating,))
    try:
        table = read(readings, **chosen | {"apart": rated})
        labelled = read_labels(labels, table.scale, same=same, **chosen | {"apart": told})
    except InputError as error:
        if same and isinstance(error, SettingNeeded):
            # Repeated ids: annotators, and no judges, have a row each.
            people = spell(read_columns(readings), choice.annotator or "annotator")
            rows = people and error.value == CHOICE
            if rows or error.setting == "label":
                column = PLACEHOLDER if rows else error.value
                raise SettingNeeded(error.problem, INSTEAD, "label", column) from error
        if rating and isinstance(error, SettingNeeded) and error.setting == "rating":
            here, there = map(read_columns, (readings, labels))
            if spell(there, rating) and any(spell(here, name) for name in label):
                problem = f"{error.problem} {labels} has that column. Swap the two tables."
                raise InputError(problem) from error
        if choice.options is not None and not isinstance(error, FileError):
            size, rated = Scale.of(choice.options).size, (rating or "rating",)
            _compare_scales(size, (readings, rated), (labels, label))
        raise
    for path, columns in {labels: labelled.columns, readings: table.columns}.items():
        rated = path == readings and table.kind == "rating"
        if "label_low" in columns.schema and not rated:
            if same and label == ["label"]:
                problem = f"{readings}: column 'label' contains predictions, not labels by people."
                raise SettingNeeded(problem, INSTEAD, "label", PLACEHOLDER)
            what = "come from a fit to these" if path == readings else "were the source of these"
            warn(
                f"{path} contains calibrated probabilities. If they {what} labels, the results are "
                "too optimistic. Use the judge's own readings and human labels."
            )
    if sparse:
        labelled = labelled.among(table.item_ids)
    labelled, rows = match_labels(table, labelled)
    _check_tasks(table, labelled, rows)
    equal = table.logits[rows].argmax(axis=-1).T == labelled.labels
    if table.kind == "rating" and len(rows) >= COPIED and not same and equal.all(axis=-1).any():
        warn(
            f"{labels}: all {len(rows)} labels equal the ratings in {readings}. If the labels are "
            "a copy of the ratings, the results are meaningless. Name the column with human labels."
        )
    return LabelledReadings(table, labelled, rows)


def _compare_scales(size: int, *sides: tuple[Path, Sequence[str]]) -> None:
    """Refuse ratings and labels that are each of so many options, and together of more."""
    values: list[list[float]] = []
    for path, names in sides:
        columns = read_columns(path)
        here = [name for name in map(partial(spell, columns), names) if name]
        cells = {parse_number(cell) for name in here for cell in list_distinct(columns, name)}
        values.append(sorted(number for number in cells if number is not None))
    each = [np.unique(numbers) for numbers in (*values, sum(values, []))]
    fits = [len(of) > 2 and np.ptp(of) < size * np.diff(of).min() for of in each]
    if all(fits[:2]) and not fits[2]:
        (here, there), (first, second) = [", ".join(f"{n:g}" for n in of) for of in values], sides
        problem = f"{first[0]} has the ratings {here}, but {second[0]} has the labels {there}"
        raise InputError(f"{problem}. The two scales differ. {OTHER_SCALE}")


def _check_tasks(readings: ReadingTable, labels: LabelTable, rows: Int64[np.ndarray, " n"]) -> None:
    """Refuse labels of other tasks than the readings, and warn of several tasks in one."""
    here, there = (
        columns.collect(named("task")).to_series().to_list() if "task" in columns.free else []
        for columns in (readings.columns, labels.columns)
    )
    tasks = [*dict.fromkeys(here)]
    for number, (row, task) in enumerate(zip(rows, there if here else (), strict=False)):
        if task and here[row] and task != here[row]:
            item, where = quote(labels.item_ids[number]), labels.columns.where(number)
            problem = f"{readings.columns.path} has task {here[row]!r} for {item}, but"
            problem = f"{problem} {labels.columns.path} has task {task!r} ({where})."
            both = next((name for name in tasks if name in there), "NAME")
            raise SettingNeeded(problem, "Choose a task of both, for example", "task", both)
    if len(tasks) > 1:
        warn(
            f"{readings.columns.path}: {len(tasks)} tasks ({list_names(tasks)}) are calibrated "
            "together. If they differ, choose one: --task NAME, or task='NAME' in Python."
        )


def match_labels(
    readings: ReadingTable, labels: LabelTable
) -> tuple[LabelTable, Int64[np.ndarray, " n"]]:
    """Find the reading of each labelled text; those without one are left out with a warning.

    Args:
        readings: The readings.
        labels: The labels.

    Returns:
        The labels of texts with a reading, and the positions of these in `readings`.

    Raises:
        InputError: More than half of the labels belong to no text of the readings.
    """
    if not labels.item_ids:
        raise InputError(f"{labels.columns.path}: none of the labelled texts has a reading.")
    warn_of_models(labels, read_provenance(readings))
    users = readings.users
    if users is not None and labels.annotators is None:
        problem = f"{readings.columns.path} has a row for each text and user"
        problem = f"{problem}, but {labels.columns.path} does not name the user for each label."
        raise SettingNeeded(problem, "Name the column with the users", "annotator", PLACEHOLDER)
    keys = key_rows(readings.item_ids, users)
    # An accent may be a character of its own in one file, and part of its letter in the other.
    index = {normalize("NFC", key): row for row, key in enumerate(keys)}
    index |= {key: row for row, key in enumerate(keys)}
    people = None if users is None else labels.annotators
    keys = key_rows(labels.item_ids, people)
    rows = np.fromiter((index.get(key, index.get(normalize("NFC", key), -1)) for key in keys), int)
    unknown = np.flatnonzero(rows < 0)
    if not unknown.size:
        return labels, rows

    def name(row: int) -> str:
        whose = f" of {people[row]}" if people else ""
        return f"{quote(labels.item_ids[row])}{whose} ({labels.columns.where(row)})"

    what = "reading for that user" if people else "reading"
    shown = abridge(unknown.tolist(), 5, name)
    problem = f"{len(unknown)} of {len(rows)} labels"
    if 2 * len(unknown) > len(rows):
        raise InputError(
            f"{labels.columns.path}: {problem} have no {what}: {shown}. "
            f"{readings.columns.path} has ids such as {list_names(readings.item_ids, 2)}. Use the "
            "same ids in both files, or remove these labels."
        )
    warn(f"{labels.columns.path}: ignored {problem} because they have no {what}: {shown}.")
    return labels.take(np.flatnonzero(rows >= 0)), rows[rows >= 0]


def check_unfilled(
    output: Path, advice: str, *read: Columns, kept: Iterable[tuple[str, str]] = ()
) -> None:
    """Refuse to replace a table in which somebody has filled in labels, but those that are kept.

    Args:
        output: The table that would be replaced.
        advice: What to do with its labels.
        read: The tables that the new one is made of; filled columns of others would be lost, too.
        kept: Texts and labels that the new table will hold, too.

    Raises:
        InputError: There is such a table.
    """
    try:
        columns = read_columns(output)
        columns.require("label")
    except InputError:
        return  # Whatever it is, it is no table of labels.
    pair = [named(name) for name in ("item_id", "label") if name in columns.schema]
    filled = Counter(row for row in columns.collect(*pair).iter_rows() if not is_missing(row[-1]))
    labelled = bool(filled - Counter[tuple[str, ...]](kept))
    same = {*FIXED, "cost", "p_wrong"}.union(*({*one.schema, *one.origin.values()} for one in read))
    others = [name for name in columns.schema if name.removeprefix("input_") not in same]
    others = [name for name in others if list_filled(columns, name)]
    if labelled or others:
        what = count(filled.total(), "label") if labelled else f"values in {list_names(others)}"
        problem = f"{output} already contains {what}, which a new table would overwrite."
        raise InputError(f"{problem} Choose a different output{f', and {advice}' * labelled}.")
