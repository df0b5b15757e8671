"""Readings out of the files that other tools write, one format a file.

A format knows its files (`recognises`) and yields what they hold of each text (`read`), as evidence
that knows no options yet.  `spellings` knows how options are written, `answers` where in a text the
answer stands, `matching` makes numbers of evidence, and `collect` makes tables.
"""

from cordial_ppl.formats.collect import collect
from cordial_ppl.formats.collected import Collected, Explained
from cordial_ppl.formats.registry import FORMATS, Format, find_format

__all__ = ["FORMATS", "Collected", "Explained", "Format", "collect", "find_format"]
