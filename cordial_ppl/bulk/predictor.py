"""A judge as a function of Arrow batches: for streams, and for whatever else moves such batches."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from cordial_ppl.bulk.texts import predict_texts, rename_extras
from cordial_ppl.channel import Channel
from cordial_ppl.cordial.stack import Stack
from cordial_ppl.errors import InputError
from cordial_ppl.readings import Unread, warn_of_unread
from cordial_ppl.saved import load
from cordial_ppl.tables.arrow import ArrowCells
from cordial_ppl.tables.blocks import Block
from cordial_ppl.tables.columns import find_kind, read_logits, read_scale
from cordial_ppl.tables.files import Columns
from cordial_ppl.tables.layout import Layout, keep
from cordial_ppl.tables.readings import finite_column
from cordial_ppl.tables.rows import name_items

BATCH = Path("the batch")
"""What messages call the table that a batch comes as."""


class BatchPredictor:
    """Predictions of Arrow tables of readings, batch by batch.

    A call is a pure function of its batch: batches may be predicted anywhere, in any order, again
    and in threads.

    Args:
        judge: A fitted stack, or the path of its file.
        layout: Where the readings are, as a survey of the whole table has found, which has told of
            options without a reading too; by default each batch is looked at by itself, and all of
            its rows count.
        channels: The channel files that the judge was fitted with, if any; their code is run.

    Raises:
        FileError: The judge's file cannot be read or is damaged.
        InputError: The file holds something else than a judge of one reader.
    """

    def __init__(
        self,
        judge: Stack | str | Path,
        layout: Layout | None = None,
        *,
        channels: Sequence[str | Path | Channel] = (),
    ):
        """Load the judge."""
        self.judge = judge if isinstance(judge, Stack) else load(judge, channels=channels)
        if not isinstance(self.judge, Stack):
            raise InputError(f"{judge} is no judge of one reader, as `cordial fit` writes it.")
        self.layout = layout

    def __call__(self, batch: pa.Table | pa.RecordBatch) -> pa.Table:
        """Predict the texts of a batch.

        Args:
            batch: The columns `item_id` and the readings', those of the covariates, and any other.

        Returns:
            The columns `item_id`, `p_<option>`, `mean`, `low`, `high`, `label` and, with their
            types, all others.

        Raises:
            InputError: A column is missing, or a reading is no reading; with its row in the batch.
        """
        table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
        block = Block(BATCH, 0, range(len(table)), table)
        layout = self.layout or _look(block.columns, self.judge)
        block = keep(block, layout.chosen)
        columns = block.columns
        extras = block.table.select(layout.extras(columns))
        covariates = {
            name: finite_column(ArrowCells(extras), name, columns.where)
            for name in self.judge.covariates_
        }
        tell = warn_of_unread if self.layout is None else _known
        texts = name_items(columns)
        logits = np.empty((0, layout.scale.size))
        if texts:
            logits = read_logits(columns, layout.kind, layout.scale, tell)
        found = predict_texts(self.judge, logits, covariates)
        written = {
            "item_id": pa.array(texts, pa.string()),
            **{name: pa.array(found[name]) for name in found if name != "label"},
            "label": pa.array(found["label"], pa.string()),
        }
        names = rename_extras(extras.column_names, written, layout.kind)
        return pa.table(written | {new: extras[old] for old, new in names.items()})

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """Names and types of the columns that are returned for those that are given."""
        return self(schema.empty_table()).schema


def _look(columns: Columns, judge: Stack) -> Layout:
    kind = find_kind(columns)
    return Layout(read_scale(columns, kind, judge.scale_), kind)


def _known(found: Unread) -> None:
    """Say nothing of what has been told."""
