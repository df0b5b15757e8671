"""Questions for a server, several at once; every answer is kept as it comes."""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cordial_ppl.errors import InputError, ServerError
from cordial_ppl.formats.evidence import Answer, Answers, Position
from cordial_ppl.formats.responses import read_answers
from cordial_ppl.formats.rows import STUMBLES
from cordial_ppl.live.asker import Asker, Body, Show, name_failures
from cordial_ppl.live.cache import Cache
from cordial_ppl.live.questions import Question, Questions
from cordial_ppl.live.server import Refused, Server

TOP, FEWER = 20, 5
"""Alternatives to a token to ask for; and from a server that refuses as many."""

HOPELESS = 10
"""Failures in a row that end the run."""

SEVERAL = 100
"""Samples in one request, at most."""

MUTE = Answer("", [Position("", {})])
"""A refusal in words, which has no log-probabilities and names no option."""


class Asking(Asker):
    """Questions for a server.

    Args:
        questions: What to ask.
        server: Whom to ask.
        cache: Where answers are kept, and looked for first.
        samples: Answers to sample for each question; 0 to read log-probabilities.
        max_tokens: Tokens of an answer, at most.
        concurrency: Questions at once, at most.
    """

    def __init__(
        self,
        questions: Questions,
        server: Server,
        cache: Cache,
        *,
        samples: int = 0,
        max_tokens: int = 16,
        concurrency: int = 8,
    ):
        logprobs = {} if samples else {"logprobs": True, "top_logprobs": TOP}
        settings = {"temperature": float(samples > 0), "max_tokens": max_tokens, **logprobs}
        super().__init__(questions, server.model, cache, settings, max(samples, 1))
        self.server, self.samples, self.concurrency = server, samples, concurrency
        # What the server takes, which may be less.
        self._taken = settings | ({"n": samples} if samples > 1 else {})
        # Questions without an answer that the same command may get later.
        self._failed: dict[str, str] = {}
        self._in_a_row = 0

    def run(self, show: Show) -> None:
        """Ask all questions that have no answer yet, and report progress.

        Until one is answered they go one at a time: that shows whether key, model and address are
        right, and which settings the server takes.

        Args:
            show: Reports progress.

        Raises:
            InputError: The key, the model or the address is wrong, or the model gives no
                log-probabilities.
            ServerError: Some questions got no answer, for a reason that may pass, or no question
                got one; the answers that came are kept.
        """
        waiting = self.unanswered()
        self.server.has_answered = len(self.cache) > 0
        try:
            asyncio.run(self._run(waiting, show))
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

    def size(self, body: Body) -> int:
        """Count the answers of a completion that can be read."""
        try:
            answers = read_answers(body).answers
            message = body["choices"][0]["message"]
        except STUMBLES:
            return 0
        # An empty answer and a refusal have no alternatives to be read.
        empty = message.get("refusal") or not message.get("content")
        several = any(len(position.top) > 1 for position in answers[0].positions)
        return len(answers) if self.samples or empty or several else 0

    def evidence(self, bodies: Sequence[Body]) -> Answers:
        """Read the sampled texts, or the tokens of the one answer."""
        found = [answer for body in bodies for answer in read_answers(body).answers]
        if self.samples:
            return Answers([Answer(answer.text) for answer in found[: self.samples]])
        return Answers([found[0] if found[0].positions else MUTE])

    def describe(self, settings: Mapping[str, Any]) -> str:
        """Say how an answer was decoded: "temperature 0, max_tokens 16, top_logprobs 20"."""
        words = [
            f"{name} {value:g}"
            for name, value in settings.items()
            if name != "n" and not isinstance(value, bool)
        ]
        return ", ".join([*words, f"samples {self.samples}"] if self.samples else words)

    async def _run(self, waiting: Iterator[Question], show: Show) -> None:
        async with self.server.client:
            await self._work(waiting, show, alone=True)
            async with asyncio.TaskGroup() as workers:
                for _ in range(self.concurrency):
                    workers.create_task(self._work(waiting, show))

    async def _work(self, waiting: Iterator[Question], show: Show, alone: bool = False) -> None:
        """Ask one question after the other; alone, until one is not refused."""
        while self._in_a_row < HOPELESS and (question := next(waiting, None)) is not None:
            try:
                await self._ask(question)
            except Refused as refusal:
                self.failures[question.item_id] = str(refusal)
                # A server that answers others refuses this text.
                self._in_a_row += not self.done
                continue
            except ServerError as error:
                self._failed[question.item_id] = str(error)
                self._in_a_row += 1
            else:
                self.done, self._in_a_row = self.done + 1, 0
            show(*self.progress)
            if alone:
                return

    async def _ask(self, question: Question) -> None:
        """Ask a question until it has as many answers as are wanted."""
        _, lacking = self.find(question)
        while lacking > 0:
            settings, body = await self._request(question, min(lacking, SEVERAL))
            number = self.size(body)
            if not number:
                raise self._no_logprobs("its answer has none")
            usage = body["usage"] if isinstance(body.get("usage"), Mapping) else {}
            tokens = usage.get("prompt_tokens"), usage.get("completion_tokens")
            self.keep(question, body, settings, tokens, lacking)
            lacking -= number

    async def _request(self, question: Question, number: int) -> tuple[dict[str, Any], Body]:
        """Send a request; while the server has answered none, ask for less after a refusal."""
        settings = self._taken
        while True:
            sent = {name: value for name, value in settings.items() if name != "n"}
            if number > 1 and "n" in settings:
                sent["n"] = number
            try:
                body = await self.server.complete(question.messages, sent)
            except Refused as refusal:
                less = None if self.asked else concede(settings, str(refusal))
                if less is not None:
                    settings = less
                elif "logprob" in str(refusal) and not self.asked:
                    raise self._no_logprobs(str(refusal)) from refusal
                else:
                    raise
            else:
                self._taken = settings
                return sent, body

    def _no_logprobs(self, reason: str) -> InputError:
        return InputError(
            f"{self.server.url} gives no log-probabilities (top_logprobs) of {self.model!r}: "
            f"{reason}. Sample its answers instead: --samples 20."
        )


def concede(settings: Mapping[str, Any], refusal: str) -> dict[str, Any] | None:
    """Ask for less after a server refused a request.

    Args:
        settings: What was asked for.
        refusal: What the server said.

    Returns:
        What to ask for instead; None if nothing is left to give up.
    """
    rest = dict(settings)
    if "max_tokens" in rest and "max_completion_tokens" in refusal:
        rest["max_completion_tokens"] = rest.pop("max_tokens")
    elif "temperature" in rest and re.search(r"\btemperature\b", refusal):
        # Reasoning models have one temperature, and let no request name another.
        del rest["temperature"]
    elif "logprob" in refusal and rest.get("top_logprobs", 0) > FEWER:
        rest["top_logprobs"] = FEWER
    elif "n" in rest:
        del rest["n"]
    else:
        return None
    return rest
