"""What a log ought to hold and does not: answers that never came, labels that cannot be told."""

from typing import NamedTuple

from cordial_ppl.errors import InputError


class NoAnswer(InputError):
    """A request failed, and its log says so: there is nothing to read, but nothing wrong either."""


class Failed(NamedTuple):
    """A request without an answer.

    Attributes:
        place: Where it stands, for messages.
        why: What the log says of it.
        task: What was asked.
        reader: Who was asked; None where only an answer would say.
    """

    place: str
    why: str
    task: str | None = None
    reader: str | None = None


class Unlabelled(NamedTuple):
    """Targets that may mean one label or another: whoever wants labels must hear of it.

    Attributes:
        why: What is not known, and what to do.
    """

    why: str
