"""Questions put to a model, several at once; every answer is kept as it comes."""

import asyncio
import datetime
from collections.abc import Iterable, Iterator, Mapping

from cordial_ppl.errors import ServerError
from cordial_ppl.logs.ask.cache import Answer, Cache, key_of
from cordial_ppl.logs.ask.model import Model, Refused
from cordial_ppl.logs.ask.questions import Question, Questions
from cordial_ppl.logs.evidence import Orders, Record
from cordial_ppl.runtime.progress import Stage, doing

NAMED = 3
"""Failures that a message names."""


class Asking:
    """Questions for a model.

    Args:
        questions: The questions.
        model: The model.
        cache: The answers there are, and the file of new ones.

    Attributes:
        failures: Texts that the model does not rate, and why.
        done: Questions that are answered.
        cached: Those of them that the cache had an answer to.
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
        self._in_a_row = 0

    @property
    def taken(self) -> str:
        """The requests and tokens that the answers took."""
        return "{:,} requests, {:,} + {:,} tokens".format(self.asked, *self.tokens)

    def run(self) -> None:
        """Ask all questions that have no answer yet.

        Until one is answered they go one at a time: that shows whether key, model and address are
        right, and which settings the server takes.

        Raises:
            InputError: No question can be answered: the key, the model or the address is wrong, or
                the model gives no log-probabilities.
            ServerError: Some questions got no answer, for a reason that may pass, or no question
                got one; the answers that came are kept.
        """
        waiting = self._unanswered()
        self.model.has_answered = len(self.cache) > 0
        try:
            with doing("asking", len(self.questions), "answers") as stage:
                asyncio.run(self._run(waiting, stage))
        except ExceptionGroup as group:
            # One worker's error cancels the others.
            raise group.exceptions[0] from None
        unasked = sum(1 for _ in waiting)
        if unasked or self._failed or not self.done:
            number = len(self.questions)
            raise ServerError(
                f"{number - self.done} of {number} questions got no answer: "
                f"{name_failures(self._failed | self.failures)}."
                + (" The others were not asked." if unasked else "")
            )

    def find(self, question: Question) -> tuple[list[Answer], int]:
        """Look up a question in the cache.

        Args:
            question: The question.

        Returns:
            The responses, and how many answers they lack.
        """
        answers: list[Answer] = []
        lacking = self.model.wanted
        while lacking > 0:
            answer = self.cache.get(self._key(question, lacking))
            number = 0 if answer is None else self.model.size(answer.body)
            if answer is None or not number:
                break
            answers.append(answer)
            lacking -= number
        return answers, max(lacking, 0)

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
            parts = [model.evidence([answer.body for answer in some]) for some, _ in orders]
            answers = [answer for some, _ in orders for answer in some]
            yield Record(
                location=f"the answer about {item!r}",
                item_id=item,
                evidence=parts[0] if len(parts) == 1 else Orders(parts),
                reader=reader,
                task=task,
                made={
                    "model": _join(str(one.body.get("model") or model.name) for one in answers),
                    "prompt": digest,
                    "decoding": _join(model.describe(answer.settings) for answer in answers),
                    "date": max(answer.date for answer in answers),
                },
            )

    def _key(self, question: Question, lacking: int) -> str:
        model = self.model
        return key_of(model.name, question.messages, model.settings, model.wanted - lacking)

    def _unanswered(self) -> Iterator[Question]:
        """Go through the questions that lack answers, and count the others as done."""
        for question in self.questions:
            if self.find(question)[1]:
                yield question
            else:
                self.done += 1

    async def _run(self, waiting: Iterator[Question], stage: Stage) -> None:
        async with self.model.connection:
            await self._work(waiting, stage, alone=True)
            async with asyncio.TaskGroup() as workers:
                for _ in range(self.model.concurrency):
                    workers.create_task(self._work(waiting, stage))

    async def _work(self, waiting: Iterator[Question], stage: Stage, alone: bool = False) -> None:
        """Ask one question after the other; alone, until one is not refused."""
        patience = self.model.patience
        while self._in_a_row < patience and (question := next(waiting, None)) is not None:
            try:
                await self._ask(question)
            except Refused as refusal:
                self.failures[question.item_id] = str(refusal)
                # A model that answers others refuses this text.
                self._in_a_row += not self.done
                continue
            except ServerError as error:
                self._failed[question.item_id] = str(error)
                self._in_a_row += 1
            else:
                self.done, self._in_a_row = self.done + 1, 0
            stage.reach(self.done, f"asking, {self.taken}")
            if alone:
                return

    async def _ask(self, question: Question) -> None:
        """Ask a question until it has as many answers as are wanted; keep each."""
        _, lacking = self.find(question)
        while lacking > 0:
            settings, body = await self.model.answer(question.messages, lacking)
            today = datetime.datetime.now(datetime.UTC).date().isoformat()
            self.cache.put(self._key(question, lacking), Answer(settings, body, today))
            self.asked += 1
            usage = body["usage"] if isinstance(body.get("usage"), Mapping) else {}
            for position, name in enumerate(("prompt_tokens", "completion_tokens")):
                number = usage.get(name)
                self.tokens[position] += number if isinstance(number, int) else 0
            lacking -= self.model.size(body)


def _join(words: Iterable[str]) -> str:
    """Join different words in order: "gpt-4o; gpt-4o-mini"."""
    return "; ".join(dict.fromkeys(words))


def name_failures(failures: Mapping[str, str]) -> str:
    """Name the first texts without an answer: "'t5' (status 400: too long) and 7 more"."""
    named = [f"{item!r} ({why})" for item, why in list(failures.items())[:NAMED]]
    rest = len(failures) - len(named)
    return ", ".join(named) + (f" and {rest} more" if rest else "")
