"""A way to a model, and the records that are made of its answers."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from cordial_ppl.formats.evidence import Answers, Record, Sequences, Several, Tokens
from cordial_ppl.live.cache import Cache
from cordial_ppl.live.questions import Question, Questions

Show = Callable[[float, str], None]
"""Reports progress: the share that is done, and one line about it."""

NAMED = 3
"""Failures that a message names."""


class Found(NamedTuple):
    """The answer to a question.

    Attributes:
        evidence: What was answered.
        model: The model, by the server's name for it.
        decoding: How the answer was decoded.
        date: When it came, as "2025-12-31".
    """

    evidence: Tokens | Answers | Sequences
    model: str
    decoding: str
    date: str


class Asker(ABC):
    """A way to a model.

    Args:
        questions: What to ask.
        model: The model's name.
        cache: Where answers are kept, and looked for first.

    Attributes:
        failures: Texts that the model does not rate, and why.
        done: Questions that are answered.
        asked: Requests that got an answer in this run.
        tokens: Tokens of their prompts, and of the answers.
    """

    def __init__(self, questions: Questions, model: str, cache: Cache):
        self.questions, self.model, self.cache = questions, model, cache
        self.failures: dict[str, str] = {}
        self.done = self.asked = 0
        self.tokens = (0, 0)

    @abstractmethod
    def run(self, show: Show) -> None:
        """Ask all questions that have no answer yet, and report progress."""

    @abstractmethod
    def find(self, question: Question) -> Found | None:
        """Find the answer to a question; None if there is none."""

    @property
    def progress(self) -> tuple[float, str]:
        """The share of questions that are answered, and a line about what that took."""
        tokens = "{:,} + {:,} tokens".format(*self.tokens)
        line = f"{self.done:,} of {len(self.questions):,} answers, {self.asked:,} requests, "
        return self.done / len(self.questions), line + tokens

    def unanswered(self) -> Iterator[Question]:
        """Go through the questions without an answer, and count the others as done."""
        for question in self.questions:
            if self.find(question) is None:
                yield question
            else:
                self.done += 1

    def count(self, read: object, written: object) -> None:
        """Count a request and its tokens, as far as the server reports them."""
        new = (number if isinstance(number, int) else 0 for number in (read, written))
        self.asked += 1
        self.tokens = tuple(map(sum, zip(self.tokens, new, strict=True)))

    def records(self, reader: str, task: str | None = None) -> Iterator[Record]:
        """Make a record of every text whose questions are all answered, in the texts' order.

        Args:
            reader: What to call the reader.
            task: What to call the task, if anything.

        Yields:
            The records.
        """
        digest = self.questions.prompt.digest(self.questions.orders)
        for position, item in enumerate(self.questions.texts.item_ids):
            answers = [self.find(question) for question in self.questions.about(position)]
            found = [answer for answer in answers if answer is not None]
            # What places add cancels only in the mean over all orders.
            if len(found) < len(answers):
                continue
            parts = [answer.evidence for answer in found]
            yield Record(
                item_id=item,
                evidence=parts[0] if len(parts) == 1 else Several(parts),
                place=f"the answer about {item!r}",
                reader=reader,
                task=task,
                made={
                    "model": join(answer.model for answer in found),
                    "prompt": digest,
                    "decoding": join(answer.decoding for answer in found),
                    "date": max(answer.date for answer in found),
                },
            )


def join(words: Iterable[str]) -> str:
    """Join different words in order: "gpt-4o; gpt-4o-mini"."""
    return "; ".join(dict.fromkeys(words))


def name_failures(failures: Mapping[str, str]) -> str:
    """Name the first texts without an answer: "'t5' (status 400: too long) and 7 more"."""
    named = [f"{item!r} ({why})" for item, why in list(failures.items())[:NAMED]]
    rest = len(failures) - len(named)
    return ", ".join(named) + (f" and {rest} more" if rest else "")
