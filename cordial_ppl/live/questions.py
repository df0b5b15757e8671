"""What is asked in all: every text, with the options in every order."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cordial_ppl.errors import InputError
from cordial_ppl.live.prompt import Messages, Order, Prompt, find_fields
from cordial_ppl.live.texts import Texts, read_demonstrations, read_texts


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
    """Questions for a model, text by text, written when they are needed.

    Args:
        texts: The texts.
        prompt: The prompt.
        orders: Orders of the options.
    """

    texts: Texts
    prompt: Prompt
    orders: Sequence[Order]

    def __len__(self) -> int:
        """The number of questions."""
        return len(self.texts.item_ids) * len(self.orders)

    def __iter__(self) -> Iterator[Question]:
        """Go through the questions, text by text."""
        for position in range(len(self.texts.item_ids)):
            yield from self.about(position)

    def about(self, position: int) -> Iterator[Question]:
        """Go through the questions about one text."""
        item = self.texts.item_ids[position]
        fields = {name: column[position] for name, column in self.texts.cells.items()}
        for order in self.orders:
            yield Question(item, self.prompt.messages(fields, order, item))


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
        path: The table.
        prompt: The prompt, without examples.
        demonstrations: A table of labelled texts to show as examples, if any.
        shots: How many of them to show.
        permutations: Number of orders of the options.
        seed: Seed of the examples and of the orders.

    Returns:
        The questions.

    Raises:
        FileError: A file cannot be read or is not what its ending says.
        InputError: A table lacks something, there are fewer texts or orders than asked for, or
            several orders of options that the prompt does not list.
    """
    if permutations > 1 and "options" not in find_fields(prompt.text):
        raise InputError(
            "--permutations lists the options in several orders, but the prompt has no {options}."
        )
    if demonstrations is not None:
        examples = read_demonstrations(
            demonstrations, prompt.scale, prompt.columns, shots, seed=seed
        )
        prompt = replace(prompt, demonstrations=examples)
    texts = read_texts(path, prompt.columns)
    return Questions(texts, prompt, option_orders(prompt.scale.size, permutations, seed))


def option_orders(size: int, number: int, seed: int = 0) -> list[Order]:
    """Choose orders in which options are listed.

    Readers prefer options by their place in the list. If a place adds a constant to an option's
    logit, the constants cancel in the mean of logits over orders in which every option takes every
    place equally often. One order is the scale's; several are rotations of random orders, so that
    in every K of them each option takes each place once.

    Args:
        size: Number of options K.
        number: How many orders, at most K!.
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
    found: dict[Order, None] = {}
    while len(found) < number:
        order = rng.permutation(size)
        for turn in range(size):
            found.setdefault(tuple(np.roll(order, -turn).tolist()))
    return list(found)[:number]
