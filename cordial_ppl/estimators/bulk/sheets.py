"""Sheets: tables that people fill in with labels, and that are read as labels then."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from jaxtyping import Int64

from cordial_ppl.data.numerals import is_missing
from cordial_ppl.decisions.deciding import Decisions
from cordial_ppl.decisions.planning import Plan, expected_scores, score_strata, share_drawn
from cordial_ppl.errors import InputError, count
from cordial_ppl.estimators.bulk.predictor import add_extras
from cordial_ppl.tables import LabelTable, ReadingTable, read_columns, write_table
from cordial_ppl.tables.frame import as_list

ADDED = ("stratum", "probability", "probability_by", "label")
"""What a sheet has beside the text's own columns."""

DECIDED = ("decision", "cost", "p_wrong")
"""What a sheet of decisions has besides."""


def check_unfilled(
    output: Path,
    advice: str,
    table: ReadingTable | None = None,
    labels: LabelTable | None = None,
) -> None:
    """Refuse to replace a table in which somebody has filled in labels, but those that were read.

    Args:
        output: The table that would be replaced.
        advice: What to do instead.
        table: The readings, if labels were read.
        labels: The labels that were read.

    Raises:
        InputError: There is such a table.
    """
    try:
        columns = read_columns(output)
    except InputError:
        return  # Whatever it is, it is no table of labels.
    names = [name for name in ("item_id", "label") if name in columns.schema]
    if "label" not in names:
        return
    cells = zip(*(as_list(columns.collect(name).to_series()) for name in names), strict=True)
    filled = Counter(tuple(map(str, each)) for each in cells if not is_missing(each[-1]))
    kept, another = Counter[tuple[str, ...]](), "a new plan"
    if table is not None and labels is not None:
        options, another = table.scale.options, "another"
        codes = zip(labels.item_ids, labels.labels, strict=True)
        kept = Counter((item, options[label]) for item, label in codes)
    if filled - kept:
        raise InputError(
            f"{output} already holds {count(filled.total(), 'label')}, which {another} would "
            f"overwrite. Name another output, {advice}."
        )


def _list_texts(table: ReadingTable, but: Sequence[str] = ()) -> pl.DataFrame:
    """List texts with their columns; those that are to be added, and `but`, become `input_...`."""
    # A column `weight` among labels would weigh them.
    names = (*ADDED, "weight", *but)
    taken = pl.DataFrame({"item_id": table.item_ids}).with_columns(**dict.fromkeys(names))
    return add_extras(taken, table).drop(*names)


def write_plan(
    output: Path,
    table: ReadingTable,
    made: Plan,
    labelled: tuple[Sequence[int], Sequence[str]],
    grouping: tuple[Sequence[str] | None, str | None],
) -> None:
    """Write the texts that have labels, and the planned ones with an empty label.

    Each has the share of its group's texts that are among both.

    Args:
        output: The table to write.
        table: The readings.
        made: The plan.
        labelled: The rows that have labels, with these.
        grouping: The group of each text, with the column that names it; None without groups.
    """
    (rows, labels), (groups, by) = labelled, grouping
    every = [*rows, *made.rows.tolist()]
    drawn, names = list(dict.fromkeys(every)), groups or [""] * len(table)
    shares = dict(zip(drawn, share_drawn([names[row] for row in drawn], names), strict=True))
    strata = score_strata(expected_scores(table.logits, table.scale), len(drawn))
    sheet = _list_texts(table)[every].with_columns(
        stratum=strata[every],
        probability=pl.Series([shares[row] for row in every]),
        **({} if by is None else {"probability_by": pl.lit(by)}),
        label=pl.Series([*labels, *[None] * len(made.rows)], dtype=pl.String),
    )
    write_table(output, sheet.lazy())


def write_decisions(
    output: Path,
    made: Decisions,
    table: ReadingTable,
    labels: LabelTable,
    rows: Int64[np.ndarray, " n"],
) -> None:
    """Write the texts that people are to label, then those with labels, and the others.

    Args:
        output: The table to write.
        made: The decisions.
        table: The readings.
        labels: The labels, each of a text that has a reading.
        rows: The rows of the labelled texts, one per label.
    """
    asked, others = np.flatnonzero(made.asked), np.flatnonzero(~(made.asked | made.labelled))
    every = np.concatenate([asked, rows, others])
    filled = {"label": [table.scale.options[label] for label in labels.labels]}
    if labels.annotators is not None:
        filled = {"annotator": labels.annotators} | filled
    added = {name: getattr(made, name)[every] for name in DECIDED}
    if made.agree is not None:
        del added["cost"]
    probability = pl.Series(made.probability[every]).fill_nan(None)
    texts = _list_texts(table, (*added, *filled))[every.tolist()]
    texts = texts.with_columns(**added, probability=probability)
    for name, cells in filled.items():
        cells = [*[None] * len(asked), *cells, *[None] * len(others)]
        texts = texts.with_columns(pl.Series(name, cells, pl.String))
    write_table(output, texts.lazy())
