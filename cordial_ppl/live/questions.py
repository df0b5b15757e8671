"""What is asked in all: every text, with the options in every order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from cordial_ppl.errors import InputError
from cordial_ppl.live.orders import Order
from cordial_ppl.live.prompt import Messages, Prompt
from cordial_ppl.live.texts import Texts


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
