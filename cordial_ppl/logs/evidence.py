"""What a file holds of one text: answers with or without their tokens, or a number an option."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from cordial_ppl.errors import list_names, quote

ABSENT = -9000.0
"""A log-probability from here down says that there is none (OpenAI and others: -9999)."""

CUT, REFUSED, FILTERED, FAILED = "cut", "refused", "filtered", "failed"
"""Why a text has no answer: the token limit, the model, a filter of the server, or an error."""


class Position(NamedTuple):
    """One generated token and its alternatives.

    Attributes:
        token: The chosen token, as text.
        top: Log-probability (nats) of each token that is listed, the chosen one included.
    """

    token: str
    top: Mapping[str, float]


class Answer(NamedTuple):
    """A generated answer.

    Attributes:
        text: What it says, without the thoughts that the log marks; of one that failed, why.
        positions: Its tokens in order; none if the log has no log-probabilities.
        ended: Whether the model ended the answer, which else may go on in another token.
        lost: Why it is no answer: `CUT`, `REFUSED`, `FILTERED`, `FAILED`; None if it is.
    """

    text: str
    positions: Sequence[Position] = ()
    ended: bool = True
    lost: str | None = None


class Scores(NamedTuple):
    """A number for each option.

    Attributes:
        kind: "logit", "logprob", "p" or "n".
        values: The numbers; those of several texts that mean the same option add up.
        options: The text that each number is of.
        others: Other names of the same options, such as the numbers of named levels.
    """

    kind: str
    values: Sequence[float]
    options: Sequence[str] = ()
    others: Sequence[str] = ()


class Orders(NamedTuple):
    """Answers or scores of one text, for each of several orders of the options."""

    each: Sequence[list[Answer] | Scores]


Evidence = list[Answer] | Scores | Orders
"""Answers to one prompt, numbers of options, or either for several orders of the options."""


@dataclass(slots=True)
class Reading:
    """The reading of one text.

    Attributes:
        kind: "logprob", "n", "logit" or "p".
        values: One number per option, [K].
        share: Probability of all options together, as far as it was returned; NaN if unknown.
        doubts: What deserves a look, keys of `collected.WORDS`.
    """

    kind: str
    values: Float64[np.ndarray, " K"]
    share: float = np.nan
    doubts: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Record:
    """What a file says of one text.

    Attributes:
        location: Where it stands, for messages: "line 7".
        item_id: The text.
        evidence: What the reading is made from; None if there is only a label.
        reader: Who read it, usually the model's name.
        task: What was asked.
        label: A person's label.
        user: That person.
        cells: Cells of further columns: how the reading was made, and other fields of the row.
        numbered: Whether the text has its row's number as its name.
        outcome: Its reading; or why it has none, a key of `collected.WORDS`.
    """

    location: str
    item_id: str
    evidence: Evidence | None = None
    reader: str | None = None
    task: str | None = None
    label: str | None = None
    user: str | None = None
    cells: Mapping[str, Any] = field(default_factory=dict)
    numbered: bool = False
    outcome: Reading | str = ""

    @property
    def key(self) -> tuple[str, str | None, str | None]:
        """Return what the reading is of: the text, who read it, and what was asked."""
        return self.item_id, self.reader, self.task

    @property
    def lost(self) -> Answer | None:
        """Return the first of its answers if all are lost."""
        answers = self.evidence if isinstance(self.evidence, list) else []
        return answers[0] if answers and all(one.lost for one in answers) else None

    @property
    def quoted(self) -> str:
        """Quote the beginning of its answer, for a message."""
        first = self.evidence.each[0] if isinstance(self.evidence, Orders) else self.evidence
        if isinstance(first, Scores):
            pairs = zip(first.options, first.values, strict=True)
            return quote(", ".join(f"{name}: {value:g}" for name, value in pairs))
        texts = (one.text or "".join(p.token for p in one.positions) for one in first or ())
        return list_names(texts, 3)


def as_text(value: Any) -> str | None:
    """Take a name or a number as text, 4.0 as "4"; None for null and for nothing."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return None if value is None or value == "" or value != value else str(value)


def is_objects(items: Any) -> bool:
    """Say whether this is a list of objects."""
    return isinstance(items, list) and all(isinstance(item, Mapping) for item in items)
