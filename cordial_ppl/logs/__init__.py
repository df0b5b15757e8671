"""Readings out of the files that other tools write.

A `Format` knows its files and yields a `Record` of each text, whose evidence knows no options yet.
Most are `presets`: names of fields. `spellings` knows how options are written, `answers` where in a
text the answer stands, `matching` makes numbers of evidence, and `collect` makes tables; `read`
does all of it.
"""

from cordial_ppl.logs.collect import collect
from cordial_ppl.logs.collected import Collected, Explained
from cordial_ppl.logs.format import Format
from cordial_ppl.logs.inspect_logs import of_scorer
from cordial_ppl.logs.read import read
from cordial_ppl.logs.registry import FORMATS, find_format

__all__ = [
    "FORMATS",
    "Collected",
    "Explained",
    "Format",
    "collect",
    "find_format",
    "of_scorer",
    "read",
]
