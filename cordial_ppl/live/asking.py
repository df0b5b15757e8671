"""Every question is put to a server, several at once, and every answer kept as it comes."""

import asyncio
from collections.abc import Iterator
from itertools import chain

from cordial_ppl.errors import CordialError, InputError, ServerError
from cordial_ppl.live.cache import Cache
from cordial_ppl.live.decoding import Decoding, Dialect
from cordial_ppl.live.failures import Refused
from cordial_ppl.live.kept import Kept
from cordial_ppl.live.questions import Question, Questions
from cordial_ppl.live.records import Found, Show
from cordial_ppl.live.responses import Completion, is_mute
from cordial_ppl.live.server import Server
from cordial_ppl.live.tally import Tally

HOPELESS = 10
"""Questions in a row without an answer, after which no more are asked."""

SEVERAL = 100
"""Samples that are asked for in one request, at most."""

NAMED = 3
"""Failed questions that a message names."""


class Asking:
    """Questions on their way to a server.

    Args:
        questions: What is asked.
        server: Who is asked.
        decoding: How answers are decoded.
        cache: Where answers are kept, and looked for first.
        tally: Counts what it takes.
        concurrency: Questions at once, at most.

    Attributes:
        failures: Questions that got no answer: the text's name, and why.
    """

    def __init__(
        self,
        questions: Questions,
        server: Server,
        decoding: Decoding,
        cache: Cache,
        tally: Tally,
        concurrency: int = 8,
    ):
        self.questions, self.server, self.decoding = questions, server, decoding
        self.tally, self.concurrency = tally, concurrency
        self.failures: list[tuple[str, str]] = []
        self._kept = Kept(cache, server.model, decoding)
        self._dialect = Dialect(decoding.settings)
        self._refused = self._in_a_row = 0
        self._proven = False

    def run(self, show: Show = lambda share, words: None, partial: bool = False) -> None:
        """Ask all that has not been answered.

        The first questions go alone, until one is answered: they show whether key, model and
        address are right, and what of the protocol the server understands.

        Args:
            show: Is told of the progress.
            partial: Whether single questions may stay without an answer.

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
            asyncio.run(self._run(first, waiting, show))
        except* CordialError as group:
            # Workers fall together; the first says why.
            raise _first(group) from None
        unasked = sum(1 for _ in waiting)
        nothing = not self._is_understood
        if nothing and self._refused == len(self.failures) and not self.decoding.samples:
            raise self._hopeless(self.failures[0][1])
        if unasked or nothing or (self.failures and not partial):
            advice = "" if unasked or nothing or partial else " --partial leaves them out."
            raise ServerError(self._complaint(unasked) + advice)

    def find(self, question: Question) -> Found | None:
        """Find what was answered to a question; None if nothing was."""
        return self._kept.find(question)

    def _unanswered(self) -> Iterator[Question]:
        for question in self.questions:
            if not self._kept.all(question):
                yield question
            else:
                self.tally.known += 1

    @property
    def _is_understood(self) -> bool:
        """Whether the server has answered such a question, now or before."""
        return self.tally.answered + self.tally.known > 0

    async def _run(self, first: Question, waiting: Iterator[Question], show: Show) -> None:
        async with self.server:
            await self._work(chain([first], waiting), show, alone=True)
            async with asyncio.TaskGroup() as workers:
                for _ in range(self.concurrency):
                    workers.create_task(self._work(waiting, show))

    async def _work(self, waiting: Iterator[Question], show: Show, alone: bool = False) -> None:
        """Ask one question after the other; alone, until one is not refused."""
        while self._in_a_row < HOPELESS and (question := next(waiting, None)) is not None:
            refused = await self._try(question, show)
            if alone and not refused:
                return

    async def _try(self, question: Question, show: Show) -> bool:
        """Ask a question; say whether it was refused."""
        refused = False
        try:
            await self._ask(question)
        except ServerError as error:
            refused = isinstance(error, Refused)
            if refused and not self._dialect.settled:
                if "logprob" in str(error) and not self.decoding.samples:
                    raise self._hopeless(str(error)) from error
                self._dialect.reset()
            self.failures.append((question.item_id, str(error)))
            self._refused += refused
            # Who answers some texts and refuses others is there.
            self._in_a_row += not (refused and self._is_understood)
        else:
            self._in_a_row = 0
            self.tally.answered += 1
        show(self.tally.share, self.tally.words)
        return refused

    def _hopeless(self, refusal: str) -> InputError:
        return InputError(
            f"{self.server.url} refuses to answer ({refusal}). If it is that "
            f"{self.server.model!r} has no log-probabilities (logprobs), sample its "
            "answers: --samples 20."
        )

    async def _ask(self, question: Question) -> None:
        taken, wanted = 0, self._kept.wanted
        while taken < wanted:
            known = self._kept.get(question, taken)
            if known is None:
                left = min(wanted - taken, SEVERAL)
                sent, body = await self.server.complete(question.messages, self._dialect, left)
                self.tally.add(body)
                self._check_alternatives(body)
                known = self._kept.put(question, taken, sent, body)
            taken += len(known.body["choices"])

    def _check_alternatives(self, body: Completion) -> None:
        """Keep no answer without log-probabilities, but for one that is mute."""
        if self._kept.is_usable(body):
            self._proven = self._proven or not is_mute(body)
            return
        lacking = (
            "no log-probabilities (top_logprobs) of what else "
            f"{self.server.model!r} might have answered"
        )
        if self._proven:
            # One of several machines behind an address.
            raise ServerError(f"the answer has {lacking}")
        raise InputError(f"{self.server.url} sends {lacking}. Sample its answers: --samples 20.")

    def _complaint(self, unasked: int) -> str:
        reasons = dict(self.failures)
        named = [f"{item!r} ({why})" for item, why in list(reasons.items())[:NAMED]]
        more = f" and {len(reasons) - len(named)} more" if len(reasons) > len(named) else ""
        return (
            f"{len(self.failures) + unasked} of {self.tally.questions} questions got no answer: "
            f"{', '.join(named)}{more}." + (" The others were not asked." if unasked else "")
        )


def _first(group: BaseExceptionGroup) -> BaseException:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
