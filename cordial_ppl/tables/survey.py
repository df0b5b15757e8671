"""What is to be known of a large table before work on it begins: that all of it can be used.

Every check that is made of a table that fits the memory is made here block by block, column by
column, with the same words. A million texts take about two seconds and, for the names that must
not occur twice, eight bytes each.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cordial_ppl.errors import InputError, naming
from cordial_ppl.readings import Unread, warn_of_unread
from cordial_ppl.tables.blocks import Block, BlockTable
from cordial_ppl.tables.columns import PREFIXES, find_kind, passed_through, read_logits, read_scale
from cordial_ppl.tables.files import is_filled
from cordial_ppl.tables.layout import Layout, keep
from cordial_ppl.tables.provenance import LASTING, Provenance, read_provenance
from cordial_ppl.tables.readings import finite_column
from cordial_ppl.tables.rows import as_name, choose, name_items, reject_repeated

LARGE = 1 << 20
"""Rows in which faults are looked for and counted together, once there is one."""


@dataclass(frozen=True)
class Survey:
    """What a large table holds.

    Attributes:
        layout: Where its readings are.
        texts: How many texts it is about.
        provenance: How the readings were made.
    """

    layout: Layout
    texts: int
    provenance: Provenance


def survey(
    table: BlockTable,
    options: Any,
    *,
    reader: str | None = None,
    task: str | None = None,
    covariates: Sequence[str] = (),
) -> Survey:
    """Check all of a table, as `read_readings` does, and warn once of options without a reading.

    Args:
        table: The table.
        options: The options in the scale's order.
        reader: The reader to take, where the table holds several.
        task: The task to take, where the table holds several.
        covariates: Columns that must be finite numbers.

    Returns:
        What the table holds.

    Raises:
        FileError: A file is damaged.
        InputError: As `read_readings` says, or a covariate is missing or not finite.
        SettingNeeded: The table holds several readers or tasks.
    """
    columns = table.header
    columns.column("item_id")
    chosen: dict[str, str] = {}
    for field, wanted in (("task", task), ("reader", reader)):
        name = _choose(table, field, wanted, chosen)
        chosen |= {} if name is None else {field: name}
    columns = replace(columns, silent=_find_silent(table, chosen))
    kind = find_kind(columns)
    layout = Layout(read_scale(columns, kind, options), kind, chosen)
    texts = _check_items(table, chosen)
    _check_readings(table, layout, texts)
    _check_covariates(table, layout, covariates)
    return Survey(layout, texts, _find_provenance(table, chosen))


def _choose(
    table: BlockTable, field: str, wanted: str | None, chosen: Mapping[str, str]
) -> str | None:
    """The name that counts in a column; None where every row does."""
    columns = table.header
    if wanted is None and field not in columns.cells:
        return None
    columns.column(field)
    names: dict[str, None] = {}
    for block in _blocks(table, [field], chosen):
        names |= dict.fromkeys(map(as_name, block.columns.cells[field]))
    return choose(table.path, field, list(names), wanted)


def _find_silent(table: BlockTable, chosen: Mapping[str, str]) -> frozenset[str]:
    """The columns of readings that say something of other rows, but nothing of those chosen."""
    if not chosen:
        return frozenset()
    names = [n for n in table.schema.names if n.startswith(PREFIXES) or n == "rating"]
    spoken, here = set(), set()
    for block in table.blocks([*names, *chosen]):
        spoken |= _filled(block, set(names) - spoken)
        here |= _filled(keep(block, chosen), set(names) - here)
    return frozenset(spoken - here)


def _filled(block: Block, names: Iterable[str]) -> set[str]:
    cells = block.columns.cells
    return {name for name in names if any(map(is_filled, cells[name]))}


def _check_items(table: BlockTable, chosen: Mapping[str, str]) -> int:
    """Count the texts, each of which has a name of its own."""
    found: list[np.ndarray] = []

    def look(block: Block) -> None:
        items = name_items(block.columns)
        found.append(np.fromiter(map(hash, items), np.int64, len(items)))

    _check(table, ["item_id"], chosen, look)
    hashes = np.concatenate(found)
    hashes.sort()
    again = hashes[1:][hashes[1:] == hashes[:-1]]
    if again.size:
        # Two names may have one hash: only the names themselves say that they are the same.
        suspects = set(again.tolist())
        repeated = (
            (block.before + row, item)
            for block in _blocks(table, ["item_id"], chosen)
            for row, item in zip(block.rows, name_items(block.columns), strict=True)
            if hash(item) in suspects
        )
        reject_repeated(table.path, repeated, table.where)
    return len(hashes)


def _check_readings(table: BlockTable, layout: Layout, texts: int) -> None:
    """Read all readings, and warn once of options without one."""
    told: list[Unread] = []

    def look(block: Block) -> None:
        def tell(found: Unread) -> None:
            told.append(found._replace(first=found.first + table.source(block.path)))

        with naming(block.path):
            read_logits(block.columns, layout.kind, layout.scale, tell)

    _check(table, layout.readings(table.header), layout.chosen, look)
    if told:
        options, rows = sum(found.options for found in told), sum(found.rows for found in told)
        warn_of_unread(Unread(options, rows, texts, told[0].first))


def _check_covariates(table: BlockTable, layout: Layout, names: Sequence[str]) -> None:
    header = table.header
    extras = {name: header.cells[name] for name in layout.extras(header)}
    for name in names:
        finite_column(extras, name, header.where)

        def look(block: Block, name: str = name) -> None:
            def where(position: int) -> str:
                return table.where(block.before + block.rows[position])

            finite_column(block.columns.cells, name, where)

        _check(table, [name], layout.chosen, look)


def _find_provenance(table: BlockTable, chosen: Mapping[str, str]) -> Provenance:
    names = [f"reader_{field}" for field in LASTING]
    found: dict[str, dict[str, None]] = {}
    for block in _blocks(table, names, chosen):
        for field, values in read_provenance(passed_through(block.columns, ())).items():
            found.setdefault(field, {}).update(dict.fromkeys(values))
    return {field: list(found[field]) for field in LASTING if field in found}


def _check(
    table: BlockTable,
    names: Sequence[str],
    chosen: Mapping[str, str],
    look: Callable[[Block], None],
) -> None:
    try:
        for block in _blocks(table, names, chosen):
            look(block)
    except InputError:
        # The same again in blocks so large that the message counts all that is at fault.
        for block in _blocks(table, names, chosen, LARGE):
            look(block)
        raise


def _blocks(
    table: BlockTable, names: Sequence[str], chosen: Mapping[str, str], size: int | None = None
) -> Iterator[Block]:
    """The rows that count, where a block has any."""
    if not set(names) & set(table.schema.names):
        return
    for block in table.blocks([*names, *chosen], size):
        kept = keep(block, chosen)
        if len(kept):
            yield kept
