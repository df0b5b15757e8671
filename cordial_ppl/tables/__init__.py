"""Tables of readings and labels in CSV, Parquet and JSON Lines, by the file's ending.

`files` reads the three formats, `writing` writes them, `columns` finds the readings among the
columns, `rows` the texts, readers and tasks of the rows. `readings`, `labels`, `several` (readers
side by side) and `predictions` (made elsewhere) are made of these; `provenance` says how readings
were made.
"""

from cordial_ppl.outputs import check_writable, discard_unfinished, replacing
from cordial_ppl.tables.labels import LabelTable, match_labels, read_labels
from cordial_ppl.tables.predictions import Predictions
from cordial_ppl.tables.provenance import MADE, differences, read_provenance
from cordial_ppl.tables.readings import ReadingTable, open_readings, read_readings
from cordial_ppl.tables.rows import list_values
from cordial_ppl.tables.several import ReaderTables, read_several
from cordial_ppl.tables.writing import write_table

__all__ = [
    "MADE",
    "LabelTable",
    "Predictions",
    "ReaderTables",
    "ReadingTable",
    "check_writable",
    "differences",
    "discard_unfinished",
    "list_values",
    "match_labels",
    "open_readings",
    "read_labels",
    "read_provenance",
    "read_readings",
    "read_several",
    "replacing",
    "write_table",
]
