"""Tables of readings and labels in CSV, Parquet and JSON Lines, by the file's ending.

`files` knows the three formats, `writing` puts a file in its place whole or not at all, `columns`
knows which columns are readings, `tables` makes readings and labels of them, `several` puts several
readers side by side, and `predictions`
takes probabilities that were made elsewhere.
"""

from cordial_ppl.formats.predictions import Predictions
from cordial_ppl.formats.several import ReaderTables, read_several
from cordial_ppl.formats.tables import (
    LabelTable,
    ReadingTable,
    list_values,
    match_labels,
    read_labels,
    read_readings,
)
from cordial_ppl.formats.writing import check_writable, discard_unfinished, replacing, write_table

__all__ = [
    "LabelTable",
    "Predictions",
    "ReaderTables",
    "ReadingTable",
    "check_writable",
    "discard_unfinished",
    "list_values",
    "match_labels",
    "read_labels",
    "read_readings",
    "read_several",
    "replacing",
    "write_table",
]
