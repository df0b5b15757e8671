"""Labelled texts that a prompt shows, each with its answer, before it asks."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cordial_ppl.errors import InputError, naming
from cordial_ppl.live.texts import read_cells
from cordial_ppl.scale import Scale
from cordial_ppl.tables.columns import filled
from cordial_ppl.tables.files import read_columns
from cordial_ppl.tables.rows import as_name


class Demonstration(NamedTuple):
    """A text with its answer.

    Attributes:
        item_id: The text's name; empty if it has none.
        fields: What a prompt may say of it.
        answer: The option.
    """

    item_id: str
    fields: Mapping[str, str]
    answer: str


def read_demonstrations(
    path: str | Path,
    scale: Scale,
    needed: Collection[str],
    shots: int,
    *,
    balanced: bool = True,
    seed: int = 0,
) -> list[Demonstration]:
    """Choose demonstrations from a table of labelled texts.

    Args:
        path: A .csv, .parquet, .jsonl or .ndjson file with `label` and what the prompt puts in.
        scale: The options.
        needed: The columns that a prompt puts in.
        shots: How many to choose.
        balanced: Whether options take turns, as long as they have texts; otherwise all texts are
            as likely.
        seed: Seed of the choice and of the order.

    Returns:
        The demonstrations, in random order.

    Raises:
        FileError: The file cannot be read or is not what its ending says.
        InputError: A column or label is missing, a label is no option, or there are too few texts.
    """
    columns = read_columns(path)
    columns.column("label")
    cells = read_cells(columns, needed)
    with naming(path):
        given = filled(columns, "label", "Demonstrations are labelled texts: remove the others.")
        labels = scale.encode(given, where=columns.where)
    if shots > len(labels):
        raise InputError(f"{path} has {len(labels)} texts; --shots asks for {shots}.")
    rng = np.random.default_rng(seed)
    drawn = rng.permutation(len(labels))
    if balanced:
        # The first text of each option, then the second of each, options in random order.
        turn = np.empty(len(labels), int)
        rank = rng.permutation(scale.size)
        for option in range(scale.size):
            own = drawn[labels[drawn] == option]
            turn[own] = np.arange(len(own)) * scale.size + rank[option]
        drawn = np.argsort(turn)
    chosen = rng.permutation(drawn[:shots]).tolist()
    items = [as_name(cell) for cell in columns.cells.get("item_id", [""] * len(labels))]
    return [
        Demonstration(
            items[i],
            {name: column[i] for name, column in cells.items()},
            scale.options[labels[i]],
        )
        for i in chosen
    ]
