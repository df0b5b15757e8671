"""Tables of readings and labels in CSV, Parquet and JSON Lines, by the file's ending.

`files` knows the three formats, `writing` puts a file in its place whole or not at all, `columns`
knows which columns are readings, and `tables` makes readings and labels of them.
"""

from cordial_ppl.formats.tables import (
    LabelTable,
    ReadingTable,
    match_labels,
    read_labels,
    read_readings,
)
from cordial_ppl.formats.writing import check_writable, replacing, write_table

__all__ = [
    "LabelTable",
    "ReadingTable",
    "check_writable",
    "match_labels",
    "read_labels",
    "read_readings",
    "replacing",
    "write_table",
]
