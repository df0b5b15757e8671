"""Every question is put to a server, several at once, and every answer kept as it comes."""

import asyncio
import datetime
from collections.abc import Callable, Iterator

from cordial_ppl.errors import CordialError, InputError, ServerError
from cordial_ppl.formats.evidence import Tokens
from cordial_ppl.live.cache import Answer, Cache, key_of
from cordial_ppl.live.decoding import Decoding, Dialect, describe
from cordial_ppl.live.questions import Question, Questions
from cordial_ppl.live.records import Found
from cordial_ppl.live.responses import as_answers, as_tokens, is_mute, read_response
from cordial_ppl.live.server import Refused, Server
from cordial_ppl.live.tally import Tally

HOPELESS = 10
"""Questions in a row without an answer, after which no more are asked."""

SEVERAL = 100
"""Samples that are asked for in one request, at most."""

NAMED = 3
"""Failed questions that a message names."""

Show = Callable[[float, str], None]
"""Is told how much is done, 0 to 1, and what to say of it."""


class Asking:
    """Questions on their way to a server.

    Args:
        questions: What is asked.
        server: Who is asked.
        decoding: How answers are decoded.
        cache: Where answers are kept, and looked for first.
        tally: Counts what it takes.
        show: Is told of the progress.
    """

    def __init__(
        self,
        questions: Questions,
        server: Server,
        decoding: Decoding,
        cache: Cache,
        tally: Tally,
        show: Show = lambda share, words: None,
    ):
        self.questions, self.server, self.decoding = questions, server, decoding
        self.cache, self.tally, self.show = cache, tally, show
        self.dialect = Dialect(decoding.settings)
        self.failures: dict[str, str] = {}
        self._in_a_row = 0

    def run(self, concurrency: int = 8) -> None:
        """Ask all that has not been answered.

        The first question goes alone: it shows whether key, model and address are right, and what
        of the protocol the server understands.

        Args:
            concurrency: Questions at once, at most.

        Raises:
            InputError: The key, the model or the address is wrong, or the reader has no
                log-probabilities.
            ServerError: Some questions got no answer; the others' answers are kept.
        """
        waiting = self._unanswered()
        first = next(waiting, None)
        if first is None:
            return
        try:
            asyncio.run(self._run(first, waiting, concurrency))
        except* CordialError as group:
            # Workers fall together; the first says why.
            raise _first(group) from None
        if self.failures:
            raise ServerError(self._complaint())

    def find(self, question: Question) -> Found:
        """Find what was answered to a question.

        Args:
            question: A question, which has been asked.

        Returns:
            The answer.
        """
        known = self._answers(question)
        bodies, last = [answer.body for answer in known], known[-1]
        samples = self.decoding.samples
        return Found(
            as_answers(bodies, samples) if samples else as_tokens(last.body),
            str(last.body.get("model") or self.server.model),
            describe(last.settings, samples),
            last.date,
        )

    def _answers(self, question: Question) -> list[Answer]:
        """Every answer to a question; none while some are missing."""
        found: list[Answer] = []
        taken = 0
        while taken < max(self.decoding.samples, 1):
            answer = self.cache.get(self._key(question, taken))
            if answer is None:
                return []
            found.append(answer)
            taken += len(answer.body["choices"])
        return found

    def _key(self, question: Question, taken: int) -> str:
        return key_of(self.server.model, question.messages, self.decoding.settings, taken)

    def _unanswered(self) -> Iterator[Question]:
        for question in self.questions:
            if not self._answers(question):
                yield question
            else:
                self.tally.known += 1

    async def _run(self, first: Question, waiting: Iterator[Question], concurrency: int) -> None:
        async with self.server:
            await self._try(first)
            if self.failures:
                return
            async with asyncio.TaskGroup() as workers:
                for _ in range(concurrency):
                    workers.create_task(self._work(waiting))

    async def _work(self, waiting: Iterator[Question]) -> None:
        for question in waiting:
            await self._try(question)
            if self._in_a_row >= HOPELESS:
                return

    async def _try(self, question: Question) -> None:
        try:
            await self._ask(question)
        except ServerError as error:
            if not self.dialect.settled and isinstance(error, Refused) and not self._samples:
                raise InputError(
                    f"{self.server.url} refuses to answer ({error}). If it is that "
                    f"{self.server.model!r} has no log-probabilities (logprobs), sample its "
                    "answers: --samples 20."
                ) from error
            self.failures[question.item_id] = str(error)
            self._in_a_row += 1
        else:
            self._in_a_row = 0
            self.tally.answered += 1
        self.show(self.tally.share, self.tally.words)

    @property
    def _samples(self) -> int:
        return self.decoding.samples

    async def _ask(self, question: Question) -> None:
        taken, wanted = 0, max(self._samples, 1)
        while taken < wanted:
            key = self._key(question, taken)
            known = self.cache.get(key)
            if known is None:
                left = min(wanted - taken, SEVERAL)
                sent, body = await self.server.complete(question.messages, self.dialect, left)
                self.tally.add(body)
                if not self._samples:
                    self._check_logprobs(body)
                known = Answer(sent, body, datetime.datetime.now(datetime.UTC).date().isoformat())
                self.cache.put(key, known)
            taken += len(known.body["choices"])

    def _check_logprobs(self, body: dict) -> None:
        """The first answer shows whether there are any; a later one without is one that is mute."""
        if self.tally.requests > 1 or self.tally.known or is_mute(body):
            return
        evidence = read_response(body)
        # With the chosen token alone nothing is known of the other options.
        if not isinstance(evidence, Tokens) or all(len(own.top) < 2 for own in evidence.positions):
            raise InputError(
                f"{self.server.url} sends no log-probabilities (top_logprobs) of what else "
                f"{self.server.model!r} might have answered. Sample its answers: --samples 20."
            )

    def _complaint(self) -> str:
        named = [f"{item!r} ({why})" for item, why in list(self.failures.items())[:NAMED]]
        rest = len(self.failures) - len(named)
        more = f" and {rest} more" if rest > 0 else ""
        left = self.tally.questions - self.tally.known - self.tally.answered
        return (
            f"{left} of {self.tally.questions} questions got no answer: {', '.join(named)}{more}."
            + (" The others were not asked." if left > len(self.failures) else "")
        )


def _first(group: BaseExceptionGroup) -> BaseException:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
