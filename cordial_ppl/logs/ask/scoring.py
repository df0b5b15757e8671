"""A model on this machine that scores every option of a question, many questions together."""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import batched
from typing import Any

from cordial_ppl.logs.ask.local import LocalModel, Tokenised, tokenise
from cordial_ppl.logs.ask.model import Body, Model, Refused
from cordial_ppl.logs.ask.prompt import Messages
from cordial_ppl.logs.evidence import Scores

BATCH = 16
"""Prompts that go through the model together."""


class Scoring(Model):
    """A model on this machine.

    Args:
        name: Its name.
        model: The model.
        options: The options, which are scored.
    """

    # So many questions are sorted by length at a time that there is little padding.
    concurrency = 32 * BATCH
    patience = float("inf")

    def __init__(self, name: str, model: LocalModel, options: Sequence[str]):
        self.name, self.model, self.options = name, model, options
        # Scores do not depend on the order of the options, except through the prompt.
        self.settings = {
            "scored": list(options),
            "precision": model.precision,
            "version": model.version,
        }
        self._waiting: list[tuple[Tokenised, asyncio.Future[list[float]]]] = []
        self._is_scoring = False

    async def answer(self, messages: Messages, lacking: int) -> tuple[Mapping[str, Any], Body]:
        """Score the options after a prompt; one that is too long is refused."""
        del lacking
        tokens, longest = tokenise(self.model.tokenizer, messages, self.options), self.model.longest
        if tokens.length > longest:
            raise Refused(f"{tokens.length} tokens, but {self.name!r} reads at most {longest}")
        scores = asyncio.get_running_loop().create_future()
        self._waiting.append((tokens, scores))
        if not self._is_scoring:
            await self._score()
        body = {"scores": dict(zip(self.options, await scores, strict=True))}
        read = len(tokens.prompt) + sum(map(len, tokens.options))
        return self.settings, body | {"usage": {"prompt_tokens": read, "completion_tokens": 0}}

    async def _score(self) -> None:
        """Score all questions that wait, those of like length together, until none does."""
        self._is_scoring = True
        while self._waiting:
            # The other questions of this window are asked.
            await asyncio.sleep(0)
            window, self._waiting = sorted(self._waiting, key=lambda pair: pair[0].length), []
            for batch in batched(window, BATCH):
                rows = self.model.score([tokens for tokens, _ in batch])
                for (_, scores), row in zip(batch, rows, strict=True):
                    scores.set_result(row.tolist())
                # Their answers are kept, and the next questions asked.
                await asyncio.sleep(0)
        self._is_scoring = False

    def size(self, body: Body) -> int:
        """Return 1 for a response with a score of every option, else 0."""
        scores = body.get("scores")
        return int(isinstance(scores, dict) and set(scores) == set(self.options))

    def evidence(self, bodies: Sequence[Body]) -> Scores:
        """Read the scores of the options."""
        scores = bodies[0]["scores"]
        return Scores("logprob", list(scores.values()), list(scores))

    def describe(self, settings: Mapping[str, Any]) -> str:
        """Describe the scores and their precision."""
        return f"log-likelihood of options, {settings.get('precision')}"
