"""Tables of readings and labels in CSV, Parquet and JSON Lines, by the file's ending.

`files` knows the three formats, `writing` puts a file in its place whole or not at all, `columns`
knows which columns are readings, `rows` which texts, readers and tasks the rows are about;
`readings` and `labels` are made of these, `provenance` says how readings were made, `several` puts
several readers side by side, and `predictions` takes probabilities that were made elsewhere.

What need not fit the memory is Parquet: `arrow` opens it, `blocks` reads it block by block,
`survey` checks all of it and finds its `layout`, where its readings are.
"""

from cordial_ppl.tables.labels import LabelTable, match_labels, read_labels
from cordial_ppl.tables.predictions import Predictions
from cordial_ppl.tables.provenance import MADE, differences, read_provenance
from cordial_ppl.tables.readings import ReadingTable, read_readings
from cordial_ppl.tables.rows import list_values
from cordial_ppl.tables.several import ReaderTables, read_several
from cordial_ppl.tables.writing import (
    check_folder,
    check_writable,
    discard_unfinished,
    making_folder,
    replacing,
    write_table,
    writing,
)

__all__ = [
    "MADE",
    "LabelTable",
    "Predictions",
    "ReaderTables",
    "ReadingTable",
    "check_folder",
    "check_writable",
    "differences",
    "discard_unfinished",
    "list_values",
    "making_folder",
    "match_labels",
    "read_labels",
    "read_provenance",
    "read_readings",
    "read_several",
    "replacing",
    "write_table",
    "writing",
]
