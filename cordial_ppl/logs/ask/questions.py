"""Questions: every text of a table, with the options in every order."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cordial_ppl.errors import InputError
from cordial_ppl.logs.ask.examples import read_cells, read_examples
from cordial_ppl.logs.ask.prompt import Messages, Order, Prompt, find_fields
from cordial_ppl.tables.columns import is_reading, passed_through, read_items
from cordial_ppl.tables.files import read_columns


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
        cells: The columns that the prompt uses, as text.
        extras: The other columns, as the table has them.
        prompt: The prompt.
        orders: Orders of the options.
    """

    item_ids: list[str]
    cells: Mapping[str, list[str]]
    extras: Mapping[str, list]
    prompt: Prompt
    orders: Sequence[Order]

    def __len__(self) -> int:
        """The number of questions."""
        return len(self.item_ids) * len(self.orders)

    def __iter__(self) -> Iterator[Question]:
        """Go through the questions, text by text."""
        for position in range(len(self.item_ids)):
            yield from self.about(position)

    def about(self, position: int) -> Iterator[Question]:
        """Go through the questions about one text."""
        item = self.item_ids[position]
        fields = {name: column[position] for name, column in self.cells.items()}
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
        extras = {
            name: [cells[row] for row in rows]
            for name, cells in self.extras.items()
            if name not in dropped
        }
        return extras, dropped


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
        read_cells(columns, prompt.columns),
        passed_through(columns, ["item_id", *prompt.columns]),
        prompt,
        option_orders(prompt.scale.size, permutations, seed),
    )


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
        for turn in range(size):
            orders.setdefault(tuple(np.roll(order, -turn).tolist()))
    return list(orders)[:number]
