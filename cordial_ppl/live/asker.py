"""A way to ask a model, and the records that are made of its answers."""

import datetime
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.formats.evidence import Answers, Orders, Scores
from cordial_ppl.formats.records import Record
from cordial_ppl.live.cache import Answer, Cache, key_of
from cordial_ppl.live.questions import Question, Questions

Show = Callable[[float, str], None]
"""Reports progress: the share that is done, and one line about it."""

Body = Mapping[str, Any]
"""A response, as it is kept in the cache."""

NAMED = 3
"""Failures that a message names."""


class Asker(ABC):
    """A way to ask a model.

    Args:
        questions: What to ask.
        model: The model's name.
        cache: Where answers are kept, and looked for first.
        settings: How to decode answers, which tells them apart in the cache.
        wanted: Answers to each question.

    Attributes:
        failures: Texts that the model does not rate, and why.
        done: Questions that are answered.
        asked: Requests that got an answer in this run.
        tokens: Tokens of their prompts, and of the answers.
    """

    def __init__(
        self,
        questions: Questions,
        model: str,
        cache: Cache,
        settings: Mapping[str, Any],
        wanted: int = 1,
    ):
        self.questions, self.model, self.cache = questions, model, cache
        self.settings, self.wanted = settings, wanted
        self.failures: dict[str, str] = {}
        self.done = self.asked = 0
        self.tokens = (0, 0)

    @abstractmethod
    def run(self, show: Show) -> None:
        """Ask all questions that have no answer yet, and report progress."""

    @abstractmethod
    def size(self, body: Body) -> int:
        """The number of answers in a response; 0 if it is damaged or lacks log-probabilities."""

    @abstractmethod
    def evidence(self, bodies: Sequence[Body]) -> Answers | Scores:
        """Read the responses to a question."""

    @abstractmethod
    def describe(self, settings: Mapping[str, Any]) -> str:
        """Say how an answer was decoded."""

    @property
    def progress(self) -> tuple[float, str]:
        """The share of questions that are answered, and a line about what that took."""
        tokens = "{:,} + {:,} tokens".format(*self.tokens)
        line = f"{self.done:,} of {len(self.questions):,} answers, {self.asked:,} requests, "
        return self.done / len(self.questions), line + tokens

    def find(self, question: Question) -> tuple[list[Answer], int]:
        """Look up a question in the cache.

        Args:
            question: The question.

        Returns:
            The responses, and how many answers they lack.
        """
        found: list[Answer] = []
        lacking = self.wanted
        while lacking > 0:
            answer = self.cache.get(self._key(question, lacking))
            number = 0 if answer is None else self.size(answer.body)
            if answer is None or not number:
                break
            found.append(answer)
            lacking -= number
        return found, max(lacking, 0)

    def unanswered(self) -> Iterator[Question]:
        """Go through the questions that lack answers, and count the others as done."""
        for question in self.questions:
            if self.find(question)[1]:
                yield question
            else:
                self.done += 1

    def keep(
        self,
        question: Question,
        body: Body,
        settings: Mapping[str, Any],
        tokens: tuple[object, object],
        lacking: int = 1,
    ) -> None:
        """Keep a response.

        Args:
            question: What was asked.
            body: The response.
            settings: How it was decoded.
            tokens: Tokens of prompt and answer, as far as the server reports them.
            lacking: How many answers the question lacked before.
        """
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        self.cache.put(self._key(question, lacking), Answer(settings, body, today))
        new = (number if isinstance(number, int) else 0 for number in tokens)
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
        for position, item in enumerate(self.questions.item_ids):
            orders = [self.find(question) for question in self.questions.about(position)]
            # What places add cancels only in the mean over all orders.
            if any(lacking for _, lacking in orders):
                continue
            parts = [self.evidence([answer.body for answer in found]) for found, _ in orders]
            answers = [answer for found, _ in orders for answer in found]
            yield Record(
                place=f"the answer about {item!r}",
                item_id=item,
                evidence=parts[0] if len(parts) == 1 else Orders(parts),
                reader=reader,
                task=task,
                made={
                    "model": _join(str(one.body.get("model") or self.model) for one in answers),
                    "prompt": digest,
                    "decoding": _join(self.describe(answer.settings) for answer in answers),
                    "date": max(answer.date for answer in answers),
                },
            )

    def _key(self, question: Question, lacking: int) -> str:
        return key_of(self.model, question.messages, self.settings, self.wanted - lacking)


def _join(words: Iterable[str]) -> str:
    """Join different words in order: "gpt-4o; gpt-4o-mini"."""
    return "; ".join(dict.fromkeys(words))


def name_failures(failures: Mapping[str, str]) -> str:
    """Name the first texts without an answer: "'t5' (status 400: too long) and 7 more"."""
    named = [f"{item!r} ({why})" for item, why in list(failures.items())[:NAMED]]
    rest = len(failures) - len(named)
    return ", ".join(named) + (f" and {rest} more" if rest else "")


def load(module: str, extra: str) -> Any:
    """Import a package of an extra; an `InputError` says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"asking a model this way needs {module}: pip install 'cordial-ppl[{extra}]'."
        ) from error
