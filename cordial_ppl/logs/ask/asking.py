"""Questions put to a model; every answer is kept as it comes."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from cordial_ppl.errors import InputError, ServerError
from cordial_ppl.logs.ask.cache import Body, Cache, Response, key_of
from cordial_ppl.logs.ask.questions import Question, Questions
from cordial_ppl.logs.evidence import Answer, Orders, Record, Scores
from cordial_ppl.runtime.progress import doing

NAMED = 3
"""Failures that a message names."""


class Refused(ServerError):
    """The model does not answer this question, and would not if it were repeated."""


class Model(ABC):
    """A model that answers questions, on a server or on this machine.

    Attributes:
        name: Its name.
        settings: The settings of its decoding, which tell its answers apart in the cache.
        wanted: Answers to each question.
        has_answered: Whether it is known to answer, so that a refusal is about the question.
    """

    name: str
    settings: Mapping[str, Any]
    wanted: int = 1
    has_answered: bool = False

    @abstractmethod
    def ask(self, questions: Iterator[tuple[Question, int]], asking: "Asking") -> None:
        """Ask questions, as many as there is hope for, and tell `asking` what becomes of each.

        Args:
            questions: Each with the number of answers that it lacks.
            asking: Keeps answers and failures.

        Raises:
            InputError: No question can be answered.
        """

    @abstractmethod
    def size(self, body: Body) -> int:
        """Count the answers in a response."""

    @abstractmethod
    def evidence(self, bodies: Sequence[Body]) -> list[Answer] | Scores:
        """Read the responses to a question."""

    @abstractmethod
    def describe(self, settings: Mapping[str, Any]) -> str:
        """Describe the decoding of an answer."""


class Asking:
    """Questions for a model.

    Args:
        questions: The questions.
        model: The model.
        cache: The answers there are, and the file of new ones.

    Attributes:
        failures: Texts that the model does not rate, and why.
        done: Questions that are answered.
        asked: Requests that got an answer in this run.
        tokens: Tokens of their prompts, and of the answers.
    """

    def __init__(self, questions: Questions, model: Model, cache: Cache):
        self.questions, self.model, self.cache = questions, model, cache
        self.failures: dict[str, str] = {}
        self.done = self.asked = 0
        self.tokens = [0, 0]
        # Questions without an answer that the same command may get later.
        self._failed: dict[str, str] = {}

    @property
    def taken(self) -> str:
        """Describe the requests and tokens that the answers took."""
        return "{:,} requests, {:,} + {:,} tokens".format(self.asked, *self.tokens)

    def run(self) -> None:
        """Ask all questions that have no answer yet.

        Raises:
            InputError: No question can be answered: the key, the model or the address is wrong, or
                the model gives no log-probabilities.
            ServerError: Some questions got no answer, for a reason that may pass, or no question
                got one; the answers that came are kept.
        """
        waiting, number = self._unanswered(), len(self.questions)
        self.model.has_answered = len(self.cache) > 0
        with doing("asking", number, "answers") as self._stage:
            self.model.ask(waiting, self)
        unasked = sum(1 for _ in waiting)
        if unasked or self._failed or not self.done:
            raise ServerError(
                f"{number - self.done} of {number} questions got no answer: "
                f"{name_failures(self._failed | self.failures)}."
                + (" The others were not asked." if unasked else "")
            )

    def keep(
        self, question: Question, lacking: int, settings: Mapping[str, Any], body: Body
    ) -> int:
        """Keep a response to a question.

        Args:
            question: The question.
            lacking: The number of answers that it lacked.
            settings: The settings of the response's decoding.
            body: The response.

        Returns:
            The number of answers that it lacks now.
        """
        today = datetime.now(UTC).date().isoformat()
        self.cache.put(self._key(question), Response(settings, body, today))
        self.asked += 1
        usage = body["usage"] if isinstance(body.get("usage"), Mapping) else {}
        numbers = (usage.get(name) for name in ("prompt_tokens", "completion_tokens"))
        for position, number in enumerate(numbers):
            self.tokens[position] += number if isinstance(number, int) else 0
        lacking -= self.model.size(body)
        if lacking <= 0:
            self.done += 1
            self._stage.reach(self.done, f"asking, {self.taken}")
        return lacking

    def fail(self, question: Question, error: ServerError) -> None:
        """Note why a question has no answer, and whether it may get one later."""
        failures = self.failures if isinstance(error, Refused) else self._failed
        failures[question.item_id] = str(error)

    def find(self, question: Question) -> tuple[list[Response], int]:
        """Look up the responses to a question, and how many answers they lack."""
        responses = self.cache.get(self._key(question))
        number = sum(self.model.size(response.body) for response in responses)
        return responses, max(self.model.wanted - number, 0)

    def records(self, reader: str, task: str | None = None) -> Iterator[Record]:
        """Make a record of every text whose questions are all answered, in the texts' order.

        Args:
            reader: What to call the reader.
            task: What to call the task, if anything.

        Yields:
            The records.
        """
        model, digest = self.model, self.questions.prompt.digest(self.questions.orders)
        for position, item in enumerate(self.questions.item_ids):
            orders = [self.find(question) for question in self.questions.about(position)]
            # The bias of positions cancels only in the mean over all orders.
            if any(lacking for _, lacking in orders):
                continue
            parts = [model.evidence([each.body for each in some]) for some, _ in orders]
            responses = [each for some, _ in orders for each in some]
            yield Record(
                location=f"the answer about {item!r}",
                item_id=item,
                evidence=parts[0] if len(parts) == 1 else Orders(parts),
                reader=reader,
                task=task,
                made={
                    "model": _join(str(each.body.get("model") or model.name) for each in responses),
                    "prompt": digest,
                    "decoding": _join(model.describe(each.settings) for each in responses),
                    "date": max(each.date for each in responses),
                },
            )

    def _key(self, question: Question) -> str:
        return key_of(self.model.name, question.messages, self.model.settings)

    def _unanswered(self) -> Iterator[tuple[Question, int]]:
        """Go through the questions that lack answers, and count the others as done."""
        for question in self.questions:
            if lacking := self.find(question)[1]:
                yield question, lacking
            else:
                self.done += 1


def load(module: str, extra: str) -> Any:
    """Import a package of an extra; an `InputError` says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(
            f"asking a model this way needs {module}: pip install -e '.[{extra}]'."
        ) from error


def _join(words: Iterable[str]) -> str:
    """Join different words in order: "gpt-4o; gpt-4o-mini"."""
    return "; ".join(dict.fromkeys(words))


def name_failures(failures: Mapping[str, str]) -> str:
    """Name the first texts without an answer: "'t5' (status 400: too long) and 7 more"."""
    named = [f"{item!r} ({why})" for item, why in list(failures.items())[:NAMED]]
    rest = len(failures) - len(named)
    return ", ".join(named) + (f" and {rest} more" if rest else "")
