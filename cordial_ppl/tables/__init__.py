"""Tables of readings and labels in text, Excel, Parquet and JSON Lines, by the file's ending.

`files` reads the formats, `writing` writes them, `columns` reads cells, `layout` finds the readings
among the columns. `readings`, `labels` (`annotators`: several of a text) and `several` (readers
side by side) build on these; `groups` reads what names groups of texts, and the models and prompts
of readings.
"""

from cordial_ppl.runtime.outputs import check_writable, discard_unfinished, replacing
from cordial_ppl.tables.groups import (
    MADE,
    differences,
    list_cells,
    list_groups,
    read_groups,
    read_provenance,
)
from cordial_ppl.tables.labels import LabelTable, read_labels
from cordial_ppl.tables.matching import match_labels, read_labelled
from cordial_ppl.tables.readings import ReadingTable, list_values, open_readings, read_readings
from cordial_ppl.tables.several import read_several
from cordial_ppl.tables.writing import write_table

__all__ = [
    "MADE",
    "LabelTable",
    "ReadingTable",
    "check_writable",
    "differences",
    "discard_unfinished",
    "list_cells",
    "list_groups",
    "list_values",
    "match_labels",
    "open_readings",
    "read_groups",
    "read_labelled",
    "read_labels",
    "read_provenance",
    "read_readings",
    "read_several",
    "replacing",
    "write_table",
]
