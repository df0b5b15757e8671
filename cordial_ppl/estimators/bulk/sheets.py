"""Sheets: tables that people fill in with labels, and that are read as labels then."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.decided import Decisions
from cordial_ppl.decisions.planning import Plan, expected_scores, score_strata, share_drawn
from cordial_ppl.estimators.bulk.predictor import add_extras
from cordial_ppl.tables import LabelledReadings, LabelTable, ReadingTable, write_table

ADDED = ("stratum", "probability", "probability_by", "label")
"""What a sheet has beside the text's own columns."""

DECIDED = ("decision", "cost", "p_wrong")
"""What a sheet of decisions has besides."""


def _list_texts(table: ReadingTable, but: Sequence[str] = ()) -> pl.DataFrame:
    """List texts with their columns; those that are to be added, and `but`, become `input_...`.

    The judge's rating is left out, because it would sway people.
    """
    # A column `weight` among labels would weigh them.
    names = (*ADDED, "weight", *but)
    taken = pl.DataFrame({"item_id": table.item_ids}).with_columns(**dict.fromkeys(names))
    return add_extras(taken, table, table.names).drop(*names)


def _list_labels(labels: LabelTable | None, before: int, after: int, scale: Scale) -> pl.DataFrame:
    """List labels, with who gave them and their weights if the table says it, among empty rows."""
    if labels is None:
        return pl.DataFrame({"label": pl.Series([None] * (before + after), dtype=pl.String)})
    columns: dict[str, Any] = {} if labels.annotators is None else {"annotator": labels.annotators}
    columns |= {"weight": labels.weights} if "weight" in labels.columns.free else {}
    listed = pl.DataFrame(columns | {"label": scale.decode(labels.labels)})
    padded = pl.concat([listed.clear(before), listed, listed.clear(after)])
    return padded.with_columns(pl.col("^weight$").fill_null(1.0))


def write_plan(
    output: Path,
    table: ReadingTable,
    made: Plan,
    labelled: tuple[Sequence[int], LabelTable | None],
    grouping: tuple[Sequence[str] | None, str | None],
) -> None:
    """Write the texts that have labels, and the planned ones with an empty label.

    Each has the share of its group's texts that are among both.

    Args:
        output: The table to write.
        table: The readings.
        made: The plan.
        labelled: The rows that have labels, with these if there are any.
        grouping: The group of each text, with the column that names it; None without groups.
    """
    (rows, labels), (groups, by) = labelled, grouping
    if labels is not None and not labels.several:  # Planned rows would name nobody.
        labels = replace(labels, annotators=None)
    every, names = [*rows, *made.rows.tolist()], groups or [""] * len(table)
    drawn, listed = [*dict.fromkeys(every)], _list_labels(labels, 0, len(made.rows), table.scale)
    shares = dict(zip(drawn, share_drawn([names[row] for row in drawn], names), strict=True))
    sheet = _list_texts(table, listed.columns)[every].with_columns(
        stratum=score_strata(expected_scores(table.logits, table.scale), len(drawn))[every],
        probability=pl.Series([shares[row] for row in every]),
        **({} if by is None else {"probability_by": pl.lit(by)}),
    )
    write_table(output, sheet.hstack(listed).lazy(), table.columns)


def write_decisions(output: Path, made: Decisions, read: LabelledReadings) -> None:
    """Write the texts that people are to label, then those with labels, and the others.

    Args:
        output: The table to write.
        made: The decisions.
        read: The readings, and the labels.
    """
    table, labels, rows = read
    asked, others = np.flatnonzero(made.asked), np.flatnonzero(~(made.asked | made.labelled))
    every = np.concatenate([asked, rows, others])
    names = DECIDED if made.agree is None else ("decision", "p_wrong")
    added = {name: pl.Series(getattr(made, name)[every]) for name in names}
    added["probability"] = pl.Series(made.probability[every]).fill_nan(None)
    listed = _list_labels(labels, len(asked), len(others), table.scale)
    sheet = _list_texts(table, [*added, *listed.columns])[every.tolist()].with_columns(**added)
    write_table(output, sheet.hstack(listed).lazy(), table.columns)
