"""Tables of labels: a row for each label of a text, found by its `item_id`."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Float64, Int64

from cordial_ppl.data.labelling import LARGEST
from cordial_ppl.data.numerals import is_missing
from cordial_ppl.data.ratings import scale_of_ratings
from cordial_ppl.data.rounding import combine, round_as_chosen
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, SettingNeeded, list_names, name_rows, naming, warn
from cordial_ppl.tables.annotators import lay_out, read_annotators
from cordial_ppl.tables.choices import Choice, open_columns
from cordial_ppl.tables.columns import (
    finite,
    list_distinct,
    list_filled,
    name_items,
    named,
    passed_through,
    skip_unlabelled,
)
from cordial_ppl.tables.frame import ROW, Columns
from cordial_ppl.tables.reading_table import ReadingTable
from cordial_ppl.tables.roles import spell

MANY = 3
"""Labels that a row may count as before that is warned of."""


@dataclass(frozen=True)
class LabelTable:
    """The labels of a file, one or more a text.

    Attributes:
        columns: The table, with one row per label.
        item_ids: The text of each label, [n].
        labels: Positions 0..K-1 on the scale, [n].
        weights: How much each counts, [n]; without a column `weight` those of a text sum to one.
        annotators: Who gave each, if the table says it.
        unfilled: Number of rows that were chosen with a `probability`, and have no label.
    """

    columns: Columns
    item_ids: list[str]
    labels: Int64[np.ndarray, " n"]
    weights: Float64[np.ndarray, " n"]
    annotators: list[str] | None = None
    unfilled: int = 0

    @property
    def extras(self) -> dict[str, list]:
        """The cells of every other column, by name, with None for a missing cell."""
        return passed_through(self.columns, ["item_id", "label"])

    @property
    def first(self) -> Int64[np.ndarray, " T"]:
        """The first label of each text."""
        return np.sort(np.unique(self.item_ids, return_index=True)[1])

    @property
    def several(self) -> bool:
        """Whether a text has more than one label."""
        return len(self.first) < len(self.item_ids)

    @property
    def planned_by(self) -> str | None:
        """The column by whose groups a plan drew these texts, if the table names one."""
        if "probability_by" not in self.columns.schema:
            return None
        names = [name for name in list_distinct(self.columns, "probability_by") if name]
        if len(names) > 1:
            several = list_names(names)
            raise InputError(f"{self.columns.path} mixes plans by {several}. Keep only one plan.")
        return names[0] if names else None

    def check_single(self, consumer: str) -> None:
        """Check that each text has one label, all of the same weight.

        Args:
            consumer: The command that needs it, for the message.

        Raises:
            InputError: Labels have different weights.
            SettingNeeded: Texts have several labels.
        """
        problem = f"{self.columns.path}: {consumer} needs one label per text, with weight 1."
        if self.several:
            advice = "Take the mean of each text's labels", "annotators", "mean"
            if self.annotators is None:
                advice = "Round each label", "round", "nearest-even"
            raise SettingNeeded(f"{problem} Some texts have several labels.", *advice)
        if (self.weights != 1).any():
            raise InputError(f"{problem} Remove the column 'weight'.")

    def among(self, item_ids: Collection[str]) -> "LabelTable":
        """Take the labels of some texts."""
        items = set(item_ids)
        return self.take([i for i, item in enumerate(self.item_ids) if item in items])

    def take(self, rows: Sequence[int] | np.ndarray) -> "LabelTable":
        """Take some of the labels, by position."""
        rows = np.asarray(rows, np.int64)
        return replace(
            self,
            columns=self.columns.take(rows),
            item_ids=[self.item_ids[row] for row in rows],
            labels=self.labels[rows],
            weights=self.weights[rows],
            annotators=self.annotators and [self.annotators[row] for row in rows],
        )


class LabelledReadings(NamedTuple):
    """Readings, and labels of some of the texts.

    Attributes:
        readings: The readings of all texts.
        labels: The labels, each of a text that has a reading.
        rows: The rows of the labelled texts among the readings, one per label.
    """

    readings: ReadingTable
    labels: LabelTable
    rows: Int64[np.ndarray, " n"]

    def drop_unread(self) -> "LabelledReadings":
        """Leave out labels of texts that were not read, of which no comparison can say anything."""
        readings, labels, rows = self
        read = np.flatnonzero(~readings.unread[rows])
        return LabelledReadings(readings, labels.take(read), rows[read])


def read_scale(path: str | Path, **chosen: Any) -> Scale:
    """Make the scale of a table of labels alone, of options that are chosen.

    Raises:
        SettingNeeded: None are chosen; or a column has another name.
    """
    choice = Choice(**chosen)
    columns = lay_out(open_columns(path, choice, needed=False), choice.label, choice.annotator)
    with naming(path):
        return scale_of_ratings(list_filled(columns, "label"), choice.options, "labels")


def read_labels(path: str | Path, scale: Scale, same: bool = False, **chosen: Any) -> LabelTable:
    """Read the labels of some texts; rows without a label are skipped.

    A text may have several labels: rows of different annotators, named in a column, or a column
    for each annotator.

    Args:
        path: A table with `item_id` and `label`; optional are `annotator` and `weight`, how much a
            label counts.
        scale: The options that labels are names or positions of.
        same: Whether the table holds the readings, too: then rows of several judges may repeat a
            label, and no warning counts rows without one.
        chosen: Fields of `Choice`; those of readings do not count.

    Returns:
        The labels.

    Raises:
        FileError: The file cannot be read or is not what its ending says.
        InputError: A column or a name is missing, an annotator labels a text twice, a label is not
            on the scale or a weight negative, with its row; or no row has a label.
        SettingNeeded: The file holds several tasks, a column has another name, labels lie between
            options or count them otherwise, or texts have several labels and no annotators.
    """
    choice = Choice(**chosen)
    annotator, annotators = choice.annotator, choice.annotators
    apart = tuple(filter(None, (*choice.label, annotator, *choice.apart)))
    columns = open_columns(path, replace(choice, rating=None, apart=apart), needed=False)
    if {"annotator", "label", "label_row"} <= columns.schema.keys():
        # Of the answers that `cordial label` writes, the last about a text counts.
        columns = columns.filter(pl.struct(named("item_id"), named("annotator")).is_last_distinct())
    columns = lay_out(columns, choice.label, annotator)
    if same:
        fields = {"item_id", "task", "label", "annotator", "user", spell(columns, annotator or "")}
        label = pl.struct(*map(named, fields & columns.schema.keys()))
        columns = columns.filter(label.is_last_distinct())
    drawn = _list_chosen(columns)
    columns = skip_unlabelled(columns, scale, quiet=same)
    unfilled = len(drawn - _list_chosen(columns))
    columns, weights = _weigh(columns)
    items = name_items(columns).to_list()
    people = read_annotators(columns, items, annotator)
    with naming(path):
        cells = columns.cells["label"]
        scale = scale.counted(cells)
        positions = scale.locate(cells, where=columns.where)
        if annotators != "each":
            rows, positions, weights = combine(items, positions, weights, scale, annotators)
            columns, items, people = columns.take(rows), [items[row] for row in rows], None
        noun = "labels" if annotators == "each" else f"{annotators} labels"
        rows, labels, shares = round_as_chosen(positions, scale, choice.round, columns.where, noun)
    table = LabelTable(columns, items, positions.astype(np.int64), weights, people, unfilled)
    table = table.take(rows)
    if "weight" in columns.free:
        return replace(table, labels=labels, weights=table.weights * shares)
    # A text counts as one, however many have labelled it.
    _, texts = np.unique(table.item_ids, return_inverse=True)
    return replace(table, labels=labels, weights=shares / np.bincount(texts, shares)[texts])


def _list_chosen(columns: Columns) -> set[int]:
    """List the rows that have a `probability`."""
    if "probability" not in columns.free:
        return set()
    rows = columns.collect(ROW, "probability").iter_rows()
    return {row for row, cell in rows if not is_missing(cell)}


def _weigh(columns: Columns) -> tuple[Columns, Float64[np.ndarray, " n"]]:
    """Select the labels that count, which have a weight above 0; with the weights."""
    if "weight" not in columns.free:
        return columns, np.ones(len(columns))
    with naming(columns.path):
        weights = finite(columns, "weight")
        wrong = np.flatnonzero((weights < 0) | (weights > LARGEST))
        if wrong.size:
            value = weights[wrong[0]]
            remedy = "Remove these rows." if value < 0 else "Divide all weights by the same number."
            raise InputError(
                f"column 'weight' must be between 0 and {LARGEST:,.0f} (a weight of 1 counts as "
                f"one label); found {value:g} in {name_rows(wrong, columns.where)}. {remedy}"
            )
    if weights.max() > MANY:
        warn(
            f"{columns.path}: column 'weight' makes a single row count as up to {weights.max():g} "
            "labels, which narrows the intervals. If the weights correct for the sampling, put "
            "each text's probability of being labelled in a 'probability' column instead."
        )
    # What vanishes in 32 bits counts nothing; half of the smallest weight would be zero.
    rows = np.flatnonzero(weights.astype(np.float32))
    if not rows.size:
        raise InputError(f"{columns.path}: column 'weight' is 0 in every row, so no label counts.")
    return (columns, weights) if rows.size == weights.size else (columns.take(rows), weights[rows])
