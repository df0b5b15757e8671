"""Questions: every text of a table, with the options in every order, after labelled examples."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, name_rows, naming
from cordial_ppl.logs.ask.prompt import Example, Messages, Order, Prompt, find_fields
from cordial_ppl.tables.choices import read_items
from cordial_ppl.tables.columns import as_name, filled, is_reading, passed_through
from cordial_ppl.tables.formats import Columns, is_filled, read_columns


class Question(NamedTuple):
    """A text, with the options in one order.

    Attributes:
        item_id: The text's name.
        messages: The conversation.
    """

    item_id: str
    messages: Messages


@dataclass(frozen=True)
class Questions:
    """Questions about texts, written when they are needed.

    Args:
        item_ids: The texts' names, all different.
        fields: The columns that the prompt uses, as text, for each text.
        extras: The other columns, as the table has them.
        prompt: The prompt.
        orders: Orders of the options.
    """

    item_ids: list[str]
    fields: list[dict[str, str]]
    extras: Mapping[str, list]
    prompt: Prompt
    orders: Sequence[Order]

    def __len__(self) -> int:
        """Count the questions."""
        return len(self.item_ids) * len(self.orders)

    def __iter__(self) -> Iterator[Question]:
        """Go through the questions, text by text."""
        for position in range(len(self.item_ids)):
            yield from self.about(position)

    def about(self, position: int) -> Iterator[Question]:
        """Go through the questions about one text."""
        item, fields = self.item_ids[position], self.fields[position]
        for order in self.orders:
            yield Question(item, self.prompt.messages(fields, order, item))

    def pass_on(self, readings: Mapping[str, Any]) -> tuple[dict[str, list], list[str]]:
        """Choose the columns to write beside the readings.

        Args:
            readings: The columns of the readings, with `item_id`.

        Returns:
            The extra columns, for the texts that have a reading; and the names of those that are
            dropped, as the table has such a column already or they look like readings.
        """
        index = {item: row for row, item in enumerate(self.item_ids)}
        rows = [index[item] for item in readings["item_id"]]
        dropped = [name for name in self.extras if name in readings or is_reading(name)]
        kept = {name: cells for name, cells in self.extras.items() if name not in dropped}
        return {name: [cells[row] for row in rows] for name, cells in kept.items()}, dropped


def read_questions(
    path: str | Path,
    prompt: Prompt,
    *,
    demonstrations: str | Path | None = None,
    shots: int = 10,
    permutations: int = 1,
    seed: int = 0,
) -> Questions:
    """Make questions of a table of texts.

    Args:
        path: A .csv, .parquet, .jsonl or .ndjson file with `item_id` and the prompt's columns.
        prompt: The prompt, without examples.
        demonstrations: A table of labelled texts to show as examples, if any.
        shots: How many of them to show.
        permutations: Number of orders of the options.
        seed: Seed of the examples and of the orders.

    Returns:
        The questions.

    Raises:
        FileError: A file cannot be read or is not what its ending says.
        InputError: A column is missing, a text has no name or occurs twice, a cell that the prompt
            uses is empty, there are fewer examples or orders than asked for, or several orders of
            options that the prompt does not list.
    """
    if permutations > 1 and "options" not in find_fields(prompt.text):
        raise InputError(
            "--permutations lists the options in several orders, but the prompt has no {options}."
        )
    if demonstrations is not None:
        examples = read_examples(demonstrations, prompt.scale, prompt.columns, shots, seed=seed)
        prompt = replace(prompt, examples=examples)
    columns = read_columns(path)
    return Questions(
        read_items(columns),
        _read_fields(columns, prompt.columns),
        passed_through(columns, ["item_id", *prompt.columns]),
        prompt,
        option_orders(prompt.scale.size, permutations, seed),
    )


def read_examples(
    path: str | Path, scale: Scale, needed: Collection[str], shots: int, *, seed: int = 0
) -> list[Example]:
    """Choose examples from a table of labelled texts, in random order.

    Options take turns while they have texts, so that rare ones are shown too.

    Args:
        path: A .csv, .parquet, .jsonl or .ndjson file with `label` and the prompt's columns.
        scale: The options.
        needed: The columns that the prompt uses.
        shots: The number of examples.
        seed: Seed of the choice and of the order.

    Returns:
        The examples.

    Raises:
        FileError: The file cannot be read or is not what its ending says.
        InputError: A column or label is missing, a label is no option, or there are too few texts.
    """
    columns = read_columns(path)
    columns.require("label")
    fields = _read_fields(columns, needed)
    with naming(path):
        cells = filled(columns, "label", "Examples are labelled texts: remove the others.")
        labels = scale.encode(cells, where=columns.where)
    if shots > len(labels):
        raise InputError(f"{path} has {len(labels)} texts; --shots asks for {shots}.")
    rng = np.random.default_rng(seed)
    drawn = rng.permutation(len(labels))
    # The first text of each option, then the second of each, with the options in random order.
    turn = np.empty(len(labels), int)
    rank = rng.permutation(scale.size)
    for option in range(scale.size):
        rows = drawn[labels[drawn] == option]
        turn[rows] = np.arange(len(rows)) * scale.size + rank[option]
    chosen = rng.permutation(np.argsort(turn)[:shots]).tolist()
    items = columns.cells.get("item_id", [""] * len(labels))
    return [Example(as_name(items[i]), fields[i], scale.options[labels[i]]) for i in chosen]


def _read_fields(columns: Columns, needed: Collection[str]) -> list[dict[str, str]]:
    """Read the columns that a prompt uses, as text; none may be missing or have empty cells."""
    for name in needed:
        columns.require(name)
        empty = [i for i, cell in enumerate(columns.cells[name]) if not is_filled(cell)]
        if empty:
            rows = name_rows(empty, columns.where)
            raise InputError(f"{columns.path}: the column {name!r} is empty in {rows}.")
    rows = zip(*(columns.cells[name] for name in needed), strict=True)
    texts = ([cell if isinstance(cell, str) else as_name(cell) for cell in row] for row in rows)
    return [dict(zip(needed, row, strict=True)) for row in texts]


def option_orders(size: int, number: int, seed: int = 0) -> list[Order]:
    """Choose orders in which options are listed.

    Readers prefer options by their place in the list. If a place adds a constant to an option's
    logit, the constants cancel in the mean of logits over orders in which every option takes every
    place equally often. One order is the scale's; several are rotations of random orders, so that
    in every K of them each option takes each place once.

    Args:
        size: Number of options K.
        number: The number of orders, at most K!.
        seed: Seed of the random orders.

    Returns:
        Different orders.

    Raises:
        InputError: There are fewer orders.
    """
    if number > math.factorial(size):
        raise InputError(
            f"{size} options have {math.factorial(size)} orders; --permutations asks for {number}."
        )
    if number == 1:
        return [tuple(range(size))]
    rng = np.random.default_rng(seed)
    orders: dict[Order, None] = {}
    while len(orders) < number:
        order = rng.permutation(size)
        orders |= {tuple(np.roll(order, -turn).tolist()): None for turn in range(size)}
    return list(orders)[:number]
