"""Tables of readings and labels in text, Excel, Parquet and JSON Lines, by the file's ending.

`files` reads the formats, `writing` writes them, `columns` reads cells, `layout` finds the readings
among the columns. `readings`, `labels` (`annotators`: several of a text), `several` (readers side
by side) and `predictions` (made elsewhere) build on these; `groups` reads what names groups of
texts, and the models and prompts of readings.
"""

from cordial_ppl.runtime.outputs import check_writable as check_writable
from cordial_ppl.runtime.outputs import discard_unfinished as discard_unfinished
from cordial_ppl.runtime.outputs import replacing as replacing
from cordial_ppl.tables.groups import MADE as MADE
from cordial_ppl.tables.groups import differences as differences
from cordial_ppl.tables.groups import list_groups as list_groups
from cordial_ppl.tables.groups import read_groups as read_groups
from cordial_ppl.tables.groups import read_provenance as read_provenance
from cordial_ppl.tables.labels import LabelTable as LabelTable
from cordial_ppl.tables.labels import read_labels as read_labels
from cordial_ppl.tables.matching import match_labels as match_labels
from cordial_ppl.tables.matching import read_labelled as read_labelled
from cordial_ppl.tables.predictions import Predictions as Predictions
from cordial_ppl.tables.readings import ReadingTable as ReadingTable
from cordial_ppl.tables.readings import list_values as list_values
from cordial_ppl.tables.readings import open_readings as open_readings
from cordial_ppl.tables.readings import read_readings as read_readings
from cordial_ppl.tables.several import read_several as read_several
from cordial_ppl.tables.writing import write_table as write_table
