"""Readings out of the files that other tools write.

A `Format` knows its files and yields a `Record` of each text, whose evidence knows no options yet.
Most are `presets`: names of fields. `spellings` knows how options are written, `answers` where in a
text the answer stands, `matching` makes numbers of evidence, and `collect` makes tables; `read`
does all of it.
"""

from cordial_ppl.formats.collect import collect
from cordial_ppl.formats.collected import Collected, Explained
from cordial_ppl.formats.format import Format
from cordial_ppl.formats.inspect_ai import of_scorer
from cordial_ppl.formats.read import read
from cordial_ppl.formats.registry import FORMATS, find_format

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
