"""Every question is put to a model on this machine, a batch at a time, and every answer kept."""

import datetime
from collections.abc import Callable, Iterator
from itertools import batched
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.formats.evidence import Sequences
from cordial_ppl.live.cache import Answer, Cache, key_of
from cordial_ppl.live.local import LocalModel, Tokenised
from cordial_ppl.live.questions import Question, Questions
from cordial_ppl.live.records import Found
from cordial_ppl.live.tally import Tally

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
        show: Is told how much is done, 0 to 1, and what to say of it.
    """

    def __init__(
        self,
        questions: Questions,
        name: str,
        model: LocalModel,
        cache: Cache,
        tally: Tally,
        show: Callable[[float, str], None] = lambda share, words: None,
    ):
        self.questions, self.name, self.model = questions, name, model
        self.cache, self.tally, self.show = cache, tally, show
        self.options = questions.prompt.scale.options

    def run(self, batch: int = 8) -> None:
        """Ask all that has not been answered.

        Args:
            batch: Prompts that go through the model together.

        Raises:
            InputError: A prompt is too long for the model, or a batch for the memory.
        """
        for window in batched(self._unanswered(), batch * WINDOW):
            asked = [(own, self._tokenise(own)) for own in window]
            asked.sort(key=lambda pair: len(pair[1].prompt))
            for part in batched(asked, batch):
                scores = self.model.score([tokens for _, tokens in part])
                today = datetime.datetime.now(datetime.UTC).date().isoformat()
                for (question, tokens), own in zip(part, scores, strict=True):
                    body = {"scores": dict(zip(self.options, own.tolist(), strict=True))}
                    self.cache.put(self._key(question), Answer(self._settings, body, today))
                    self.tally.requests += 1
                    self.tally.answered += 1
                    self.tally.read += len(tokens.prompt) + sum(map(len, tokens.options))
                self.show(self.tally.share, self.tally.words)

    def _tokenise(self, question: Question) -> Tokenised:
        tokens = self.model.tokenise(question.messages, self.options)
        if tokens.length > self.model.longest:
            raise InputError(
                f"the prompt about {question.item_id!r} has {tokens.length} tokens; "
                f"{self.name!r} reads {self.model.longest} at most. Shorten the text."
            )
        return tokens

    def find(self, question: Question) -> Found:
        """Find what was answered to a question.

        Args:
            question: A question, which has been asked.

        Returns:
            The answer.

        Raises:
            KeyError: It has not been asked.
        """
        answer = self.cache.get(self._key(question))
        if answer is None:
            raise KeyError(question.item_id)
        words = f"log-likelihood of options, {self.model.precision}"
        return Found(Sequences(answer.body["scores"]), self.name, words, answer.date)

    def _unanswered(self) -> Iterator[Question]:
        for question in self.questions:
            if self._key(question) in self.cache:
                self.tally.known += 1
            else:
                yield question

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
