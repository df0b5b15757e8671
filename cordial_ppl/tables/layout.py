"""Where the readings of a table are: its scale, their kind, and the rows that count."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cordial_ppl.scale import Scale
from cordial_ppl.tables.blocks import Block
from cordial_ppl.tables.columns import reading_columns
from cordial_ppl.tables.files import Columns
from cordial_ppl.tables.rows import as_name


@dataclass(frozen=True)
class Layout:
    """Where the readings of a table are.

    Attributes:
        scale: The options, in their order.
        kind: What the table holds: "logit", "logprob", "p", "n" or "rating".
        chosen: The name that counts, in each column ("task", "reader") where others do not.
    """

    scale: Scale
    kind: str
    chosen: Mapping[str, str] = field(default_factory=dict)

    def readings(self, columns: Columns) -> list[str]:
        """List the columns of readings, in the scale's order."""
        return reading_columns(columns, self.kind, self.scale)

    def extras(self, columns: Columns) -> list[str]:
        """List the columns that are neither readings nor the texts' names."""
        used = {"item_id", *self.readings(columns)}
        return [name for name in columns.cells if name not in used]


def keep(block: Block, chosen: Mapping[str, str]) -> Block:
    """Keep the rows that count.

    Args:
        block: Some rows.
        chosen: The name that counts, by column, as in `Layout`.
    """
    for column, name in chosen.items():
        cells = block.columns.column(column)
        block = block.take([i for i, cell in enumerate(cells) if as_name(cell) == name])
    return block
