"""Chat completions of a model on a server; settings that the server does not take are left out."""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cordial_ppl.errors import InputError, ServerError
from cordial_ppl.logs.ask.asking import Asking, Model, Refused
from cordial_ppl.logs.ask.cache import Body
from cordial_ppl.logs.ask.prompt import Messages
from cordial_ppl.logs.ask.questions import Question
from cordial_ppl.logs.ask.server import Server
from cordial_ppl.logs.evidence import Answer, Position
from cordial_ppl.logs.protocols import read_answers

TOP, FEWER = 20, 5
"""Alternatives to a token to ask for; and from a server that refuses as many."""

SEVERAL = 100
"""Samples in one request, at most."""

PATIENCE = 10
"""Failures in a row that end the run."""

MUTE = Answer("", [Position("", {})])
"""A refusal in words, which has no log-probabilities and names no option."""


class Chat(Model):
    """A model on a server.

    Args:
        server: The server.
        samples: Answers to sample for each question; 0 to read log-probabilities.
        max_tokens: Tokens of an answer, at most.
        concurrency: Questions at once, at most.
    """

    def __init__(
        self, server: Server, *, samples: int = 0, max_tokens: int = 16, concurrency: int = 8
    ):
        self.server, self.name, self._in_a_row = server, server.model, 0
        self.samples, self.wanted, self.concurrency = samples, max(samples, 1), concurrency
        logprobs = {} if samples else {"logprobs": True, "top_logprobs": TOP}
        self.settings = {"temperature": float(samples > 0), "max_tokens": max_tokens, **logprobs}
        # What the server takes, which may be less; known once it has answered.
        self._taken = self.settings | ({"n": samples} if samples > 1 else {})
        self._is_known = False

    def ask(self, questions: Iterator[tuple[Question, int]], asking: Asking) -> None:
        """Ask several questions at once, but until one is answered, one at a time.

        That shows whether key, model and address are right, and which settings the server takes.
        """
        try:
            asyncio.run(self._ask_all(questions, asking))
        except ExceptionGroup as group:
            # One worker's error cancels the others.
            raise group.exceptions[0] from None

    async def _ask_all(self, questions: Iterator[tuple[Question, int]], asking: Asking) -> None:
        async with self.server.client:
            await self._work(questions, asking, alone=True)
            async with asyncio.TaskGroup() as workers:
                for _ in range(self.concurrency):
                    workers.create_task(self._work(questions, asking))

    async def _work(
        self, questions: Iterator[tuple[Question, int]], asking: Asking, alone: bool = False
    ) -> None:
        """Ask one question after the other; alone, until one is answered."""
        while self._in_a_row < PATIENCE and not (alone and self._is_known):
            question, lacking = next(questions, (None, 0))
            if question is None:
                break
            try:
                while lacking > 0:
                    settings, body = await self._answer(question.messages, lacking)
                    lacking = asking.keep(question, lacking, settings, body)
                self._in_a_row = 0
            except ServerError as error:
                asking.fail(question, error)
                # A model that answers others refuses this text.
                self._in_a_row += not (isinstance(error, Refused) and self.has_answered)

    async def _answer(self, messages: Messages, lacking: int) -> tuple[Mapping[str, Any], Body]:
        """Ask for a completion; while the server has answered none, ask for less if it refuses."""
        settings, number = self._taken, min(lacking, SEVERAL)
        while True:
            sent = {name: value for name, value in settings.items() if name != "n"}
            if number > 1 and "n" in settings:
                sent["n"] = number
            try:
                body = await self.server.complete(messages, sent, self.has_answered)
            except Refused as refusal:
                less = None if self._is_known else _concede(settings, str(refusal))
                if less is None and "logprob" in str(refusal) and not self._is_known:
                    raise self._no_logprobs(str(refusal)) from refusal
                if less is None:
                    raise
                settings = less
            else:
                if not self.size(body):
                    raise self._no_logprobs("its answer has none")
                self._taken, self._is_known, self.has_answered = settings, True, True
                return sent, body

    def size(self, body: Body) -> int:
        """Count the answers of a completion; without its log-probabilities it has none."""
        answers, message = read_answers(body), body["choices"][0]["message"]
        # An empty answer and a refusal have no alternatives to be read.
        empty = message.get("refusal") or not message.get("content")
        several = any(len(position.top) > 1 for position in answers[0].positions)
        return len(answers) if self.samples or empty or several else 0

    def evidence(self, bodies: Sequence[Body]) -> list[Answer]:
        """Read the sampled texts, or the tokens of the one answer."""
        answers = [answer for body in bodies for answer in read_answers(body)]
        if self.samples:
            return [Answer(answer.text) for answer in answers[: self.samples]]
        return [answers[0] if answers[0].positions else MUTE]

    def describe(self, settings: Mapping[str, Any]) -> str:
        """Describe the decoding of an answer: "temperature 0, max_tokens 16, top_logprobs 20"."""
        words = [
            f"{name} {value:g}"
            for name, value in settings.items()
            if name != "n" and not isinstance(value, bool)
        ]
        return ", ".join([*words, f"samples {self.samples}"] if self.samples else words)

    def _no_logprobs(self, reason: str) -> InputError:
        return InputError(
            f"{self.server.url} gives no log-probabilities (top_logprobs) for {self.name!r}: "
            f"{reason}. Sample its answers instead: --samples 20."
        )


def _concede(settings: Mapping[str, Any], refusal: str) -> dict[str, Any] | None:
    """Ask for less after a server refused a request; None if nothing is left to give up."""
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
