"""What a log holds of one text: the evidence that a reading is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Position(NamedTuple):
    """One generated token and what else could have stood there.

    Attributes:
        token: The token that was chosen, as text.
        top: Log-probability (nats) of each token that the log names, the chosen one among them.
    """

    token: str
    top: Mapping[str, float]


class Tokens(NamedTuple):
    """A generated answer, token by token.

    Attributes:
        positions: The tokens in order, at least one.
    """

    positions: Sequence[Position]


class Sequences(NamedTuple):
    """Whole options, each scored as a continuation of the prompt.

    Attributes:
        scores: Log-likelihood (nats) of each option's text.
    """

    scores: Mapping[str, float]


class Answers(NamedTuple):
    """Answers as text alone, one or several samples.

    Attributes:
        texts: The answers.
    """

    texts: Sequence[str]


class Numbers(NamedTuple):
    """A number for each option, in the scale's order, as a table has them.

    Attributes:
        kind: "logit", "logprob", "p" or "n".
        values: The K numbers.
    """

    kind: str
    values: Sequence[float]


class Several(NamedTuple):
    """The same text asked about several times, with the options in different orders.

    Attributes:
        parts: What each time gave.
    """

    parts: Sequence[Tokens | Sequences | Answers | Numbers]


Evidence = Tokens | Sequences | Answers | Numbers | Several


@dataclass(frozen=True, slots=True)
class Record:
    """What a log says of one text.

    Attributes:
        item_id: The text; None if the log does not name it, which numbers it by its order.
        evidence: From which its reading is made.
        place: Where it stands, for messages: "line 7".
        reader: Whose reading it is, usually the model's name.
        task: What was asked.
        label: What a person said of the text, if the log knows.
        made: How the reading was made: "model", "prompt", "decoding", "date".
    """

    item_id: str | None
    evidence: Evidence
    place: str
    reader: str | None = None
    task: str | None = None
    label: str | None = None
    made: Mapping[str, str] = field(default_factory=dict)
