"""Tables of readings and labels in text, Excel, Parquet and JSON Lines, by the file's ending.

`formats` reads and writes the files, `workbook` those of Excel, `columns` reads cells, `roles`
finds columns by what they are for. `reading_table`, `label_table` (`annotators`: several of a text)
and `judges` (readers side by side) build on these; `matches` joins readings and labels; `groups`
reads what names groups of texts, `words` the texts, `provenance` how readings were made and who
labelled.
"""

from cordial_ppl.tables.choices import list_values
from cordial_ppl.tables.formats import ENDINGS, SINKS, read_columns, write_table
from cordial_ppl.tables.frame import is_filled
from cordial_ppl.tables.groups import list_cells, read_groups
from cordial_ppl.tables.judges import read_several
from cordial_ppl.tables.label_table import LabelTable, read_labels, read_scale
from cordial_ppl.tables.matches import check_unfilled, match_labels, read_labelled
from cordial_ppl.tables.provenance import MADE, differences, identify, read_provenance
from cordial_ppl.tables.reading_table import ReadingTable, open_readings, read_readings
from cordial_ppl.tables.words import read_words

__all__ = [
    "check_unfilled",
    "ENDINGS",
    "SINKS",
    "MADE",
    "LabelTable",
    "ReadingTable",
    "differences",
    "identify",
    "is_filled",
    "list_cells",
    "list_values",
    "match_labels",
    "open_readings",
    "read_columns",
    "read_groups",
    "read_labelled",
    "read_labels",
    "read_provenance",
    "read_readings",
    "read_scale",
    "read_several",
    "read_words",
    "write_table",
]
