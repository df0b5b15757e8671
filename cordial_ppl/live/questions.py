"""What is asked in all: every text, with the options in every order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from cordial_ppl.errors import InputError
from cordial_ppl.live.demonstrations import read_demonstrations
from cordial_ppl.live.orders import Order, option_orders
from cordial_ppl.live.prompt import Messages, Prompt
from cordial_ppl.live.texts import Texts, read_texts


class Question(NamedTuple):
    """A text, with the options in one order.

    Attributes:
        text: The text's position.
        item_id: Its name.
        messages: The conversation.
    """

    text: int
    item_id: str
    messages: Messages


@dataclass(frozen=True)
class Questions:
    """Questions of a model, made when they are asked.

    Args:
        texts: The texts.
        prompt: The prompt.
        orders: Orders of the options.

    Raises:
        InputError: There are several orders of options that the prompt does not list.
    """

    texts: Texts
    prompt: Prompt
    orders: Sequence[Order]

    def __post_init__(self) -> None:
        """Check that orders show."""
        if len(self.orders) > 1 and not self.prompt.lists_options:
            raise InputError(
                "--permutations lists the options in several orders, but the prompt has no "
                "{options}."
            )

    def __len__(self) -> int:
        """The number of questions."""
        return len(self.texts) * len(self.orders)

    def __iter__(self) -> Iterator[Question]:
        """Go through the questions, text by text."""
        for text in range(len(self.texts)):
            yield from self.about(text)

    def about(self, text: int) -> Iterator[Question]:
        """Go through the questions about one text."""
        item = self.texts.item_ids[text]
        fields = self.texts.fields(text)
        for order in self.orders:
            yield Question(text, item, self.prompt.messages(fields, order, item))

    @cached_property
    def digest(self) -> str:
        """Name of the prompt and its orders."""
        return self.prompt.digest(self.orders)


def read_questions(
    path: str | Path,
    prompt: Prompt,
    *,
    demonstrations: str | Path | None = None,
    shots: int = 10,
    balanced: bool = True,
    permutations: int = 1,
    seed: int = 0,
) -> Questions:
    """Make questions of a table of texts.

    Args:
        path: The table.
        prompt: The prompt, without demonstrations.
        demonstrations: A table of labelled texts to show, if any.
        shots: How many of them.
        balanced: Whether options take turns among them.
        permutations: Orders of the options.
        seed: Seed of the demonstrations and of the orders.

    Returns:
        The questions.

    Raises:
        FileError: A file cannot be read or is not what its ending says.
        InputError: A table lacks something, or there are not as many texts or orders.
    """
    if demonstrations is not None:
        shown = read_demonstrations(
            demonstrations, prompt.scale, prompt.columns, shots, balanced=balanced, seed=seed
        )
        prompt = replace(prompt, demonstrations=shown)
    texts = read_texts(path, prompt.columns)
    return Questions(texts, prompt, option_orders(prompt.scale.size, permutations, seed))
