"""Tables of readings and labels in text, Excel, Parquet and JSON Lines, by the file's ending.

`formats` reads and writes the files, `workbook` those of Excel, `columns` reads cells, `roles`
finds columns by what they are for. `reading_table`, `label_table` (`annotators`: several of a text)
and `judges` (readers side by side) build on these; `matches` joins readings and labels; `groups`
reads what names groups of texts, `words` the texts, `provenance` how readings were made and who
labelled.
"""

from cordial_ppl.tables.choices import list_values as list_values
from cordial_ppl.tables.formats import ENDINGS as ENDINGS
from cordial_ppl.tables.formats import SINKS as SINKS
from cordial_ppl.tables.formats import read_columns as read_columns
from cordial_ppl.tables.formats import write_table as write_table
from cordial_ppl.tables.frame import is_filled as is_filled
from cordial_ppl.tables.groups import list_cells as list_cells
from cordial_ppl.tables.groups import read_groups as read_groups
from cordial_ppl.tables.judges import read_several as read_several
from cordial_ppl.tables.label_table import LabelledReadings as LabelledReadings
from cordial_ppl.tables.label_table import LabelTable as LabelTable
from cordial_ppl.tables.label_table import read_labels as read_labels
from cordial_ppl.tables.label_table import read_scale as read_scale
from cordial_ppl.tables.matches import check_unfilled as check_unfilled
from cordial_ppl.tables.matches import match_labels as match_labels
from cordial_ppl.tables.matches import read_labelled as read_labelled
from cordial_ppl.tables.provenance import MADE as MADE
from cordial_ppl.tables.provenance import differences as differences
from cordial_ppl.tables.provenance import identify as identify
from cordial_ppl.tables.provenance import read_provenance as read_provenance
from cordial_ppl.tables.reading_table import ReadingTable as ReadingTable
from cordial_ppl.tables.reading_table import open_readings as open_readings
from cordial_ppl.tables.reading_table import read_readings as read_readings
from cordial_ppl.tables.words import read_words as read_words
