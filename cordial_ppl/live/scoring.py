"""Every question is put to a model on this machine, a batch at a time, and every answer kept."""

import datetime
from collections.abc import Iterator, Sequence
from itertools import batched
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64

from cordial_ppl.errors import InputError
from cordial_ppl.formats.evidence import Sequences
from cordial_ppl.live.cache import Answer, Cache, key_of
from cordial_ppl.live.prompt import Messages
from cordial_ppl.live.questions import Question, Questions
from cordial_ppl.live.records import Found, Show
from cordial_ppl.live.tally import Tally
from cordial_ppl.live.tokens import Tokenised


@runtime_checkable
class Scorer(Protocol):
    """A model that scores options: `LocalModel`.

    Attributes:
        version: What tells it from others of the same name.
    """

    version: str

    @property
    def precision(self) -> str:
        """In which it computes, as "float32"."""
        ...

    @property
    def longest(self) -> int:
        """Tokens that it can read at once."""
        ...

    def tokenise(self, messages: Messages, options: Sequence[str]) -> Tokenised:
        """Turn a prompt and its options into tokens."""
        ...

    def score(self, questions: Sequence[Tokenised]) -> list[Float64[np.ndarray, " K"]]:
        """Compute the log-likelihoods of all options after each of several prompts."""
        ...


WINDOW = 32
"""Batches within which prompts are sorted by length, so that little is padded."""


class Scoring:
    """Questions on their way to a model on this machine.

    Args:
        questions: What is asked.
        name: The model's name.
        model: The model.
        cache: Where answers are kept, and looked for first.
        tally: Counts what it takes.
        batch: Prompts that go through the model together.

    Attributes:
        failures: Texts that were not asked about, and why.
    """

    def __init__(
        self,
        questions: Questions,
        name: str,
        model: Scorer,
        cache: Cache,
        tally: Tally,
        batch: int = 8,
    ):
        self.questions, self.name, self.model = questions, name, model
        self.cache, self.tally, self.batch = cache, tally, batch
        self.failures: list[tuple[str, str]] = []
        self.options = questions.prompt.scale.options

    def run(self, show: Show = lambda share, words: None, partial: bool = False) -> None:
        """Ask all that has not been answered.

        Args:
            show: Is told of the progress.
            partial: Whether prompts that are too long are left out.

        Raises:
            InputError: A prompt is too long for the model, or a batch for the memory.
        """
        for window in batched(self._tokenised(partial), self.batch * WINDOW):
            asked = sorted(window, key=lambda pair: len(pair[1].prompt))
            for part in batched(asked, self.batch):
                scores = self.model.score([tokens for _, tokens in part])
                today = datetime.datetime.now(datetime.UTC).date().isoformat()
                for (question, tokens), own in zip(part, scores, strict=True):
                    body = {"scores": dict(zip(self.options, own.tolist(), strict=True))}
                    self.cache.put(self._key(question), Answer(self._settings, body, today))
                    self.tally.requests += 1
                    self.tally.answered += 1
                    self.tally.read += len(tokens.prompt) + sum(map(len, tokens.options))
                show(self.tally.share, self.tally.words)
        if self.failures and not self.tally.answered + self.tally.known:
            raise self._too_long("shorten the texts")

    def _tokenised(self, partial: bool) -> Iterator[tuple[Question, Tokenised]]:
        """What has not been answered, as tokens."""
        for question in self.questions:
            if self.find(question) is not None:
                self.tally.known += 1
                continue
            tokens = self.model.tokenise(question.messages, self.options)
            if tokens.length <= self.model.longest:
                yield question, tokens
                continue
            problem = f"{tokens.length} tokens; {self.name!r} reads {self.model.longest} at most"
            self.failures.append((question.item_id, problem))
            if not partial:
                raise self._too_long("shorten the text, or leave such texts out (--partial)")

    def _too_long(self, advice: str) -> InputError:
        item, problem = self.failures[0]
        return InputError(f"the prompt about {item!r} has {problem}: {advice}.")

    def find(self, question: Question) -> Found | None:
        """Find what was answered to a question; None if nothing was."""
        answer = self.cache.get(self._key(question))
        scores = answer and answer.body.get("scores")
        if answer is None or not isinstance(scores, dict) or set(scores) != set(self.options):
            return None
        words = f"log-likelihood of options, {self.model.precision}"
        return Found(Sequences(scores), self.name, words, answer.date)

    @property
    def _settings(self) -> dict[str, Any]:
        # Scores do not know of the order in which the prompt lists the options.
        return {
            "scored": list(self.options),
            "precision": self.model.precision,
            "version": self.model.version,
        }

    def _key(self, question: Question) -> str:
        return key_of(self.name, question.messages, self._settings)
