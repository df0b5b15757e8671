"""Questions for a model on this machine, a batch at a time; every answer is kept."""

from collections.abc import Iterator
from itertools import batched
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.formats.evidence import Sequences
from cordial_ppl.live.asker import Asker, Found, Show
from cordial_ppl.live.cache import Cache, answer_today, key_of
from cordial_ppl.live.local import LocalModel, Tokenised, tokenise
from cordial_ppl.live.questions import Question, Questions

BATCH = 16
"""Prompts that go through the model together."""

WINDOW = 32
"""Batches among which prompts are sorted by length, so that there is little padding."""


class Scoring(Asker):
    """Questions for a model on this machine.

    Args:
        questions: What to ask.
        name: The model's name.
        model: The model.
        cache: Where answers are kept, and looked for first.
    """

    def __init__(self, questions: Questions, name: str, model: LocalModel, cache: Cache):
        super().__init__(questions, name, cache)
        self.scorer, self.options = model, questions.prompt.scale.options
        # Scores do not depend on the order of the options, except through the prompt.
        self._settings: dict[str, Any] = {
            "scored": list(self.options),
            "precision": model.precision,
            "version": model.version,
        }

    def run(self, show: Show) -> None:
        """Score all questions that have no answer yet, and report progress.

        Args:
            show: Reports progress.

        Raises:
            InputError: All prompts are too long for the model, or one for the memory.
        """
        for window in batched(self._tokenised(), BATCH * WINDOW):
            for batch in batched(sorted(window, key=lambda pair: pair[1].length), BATCH):
                scores = self.scorer.score([tokens for _, tokens in batch])
                for (question, tokens), row in zip(batch, scores, strict=True):
                    body = {"scores": dict(zip(self.options, row.tolist(), strict=True))}
                    self.cache.put(self._key(question), answer_today(self._settings, body))
                    self.count(len(tokens.prompt) + sum(map(len, tokens.options)), 0)
                    self.done += 1
                show(*self.progress)
        if self.failures and not self.done:
            item, problem = next(iter(self.failures.items()))
            raise InputError(f"the prompt about {item!r} has {problem}: shorten the texts.")

    def find(self, question: Question) -> Found | None:
        """Find the answer to a question; None if there is none."""
        answer = self.cache.get(self._key(question))
        scores = answer and answer.body.get("scores")
        if answer is None or not isinstance(scores, dict) or set(scores) != set(self.options):
            return None
        words = f"log-likelihood of options, {self.scorer.precision}"
        return Found(Sequences(scores), self.model, words, answer.date)

    def _tokenised(self) -> Iterator[tuple[Question, Tokenised]]:
        """Go through the questions to ask, as tokens; note those that are too long."""
        for question in self.unanswered():
            tokens = tokenise(self.scorer.tokenizer, question.messages, self.options)
            longest = self.scorer.longest
            if tokens.length <= longest:
                yield question, tokens
            else:
                problem = f"{tokens.length} tokens, but {self.model!r} reads at most {longest}"
                self.failures[question.item_id] = problem

    def _key(self, question: Question) -> str:
        return key_of(self.model, question.messages, self._settings)
