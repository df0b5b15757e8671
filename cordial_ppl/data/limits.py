"""How much a file, or an argument, may ask for; what is beyond is refused by name."""

OPTIONS = 201
"""Options of a scale, as 0..200."""

COLUMNS = 100_000
"""Columns of a table."""

UNPACKED = 4 << 30
"""Bytes of all that an archive, such as a workbook, holds."""

RATIO = 1000
"""Times its own size that a Parquet file unpacks to, if that is more than `UNPACKED`."""

CELLS = 100_000_000
"""Cells of a sheet, from the first to the farthest that is filled."""

RECORD = 256 << 20
"""Bytes of a line, a record, of JSON Lines."""

DEPTH = 100
"""Lists and objects inside one another, of JSON."""
