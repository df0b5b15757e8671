"""Questions for a model on this machine, a batch at a time; every answer is kept."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import batched
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.formats.evidence import Scores
from cordial_ppl.live.asker import Asker, Body, Show
from cordial_ppl.live.cache import Cache
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
        # Scores do not depend on the order of the options, except through the prompt.
        self.scorer, self.options = model, questions.prompt.scale.options
        settings = {
            "scored": list(self.options),
            "precision": model.precision,
            "version": model.version,
        }
        super().__init__(questions, name, cache, settings)

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
                    read = len(tokens.prompt) + sum(map(len, tokens.options))
                    self.keep(question, body, self.settings, (read, 0))
                    self.done += 1
                show(*self.progress)
        if self.failures and not self.done:
            item, problem = next(iter(self.failures.items()))
            raise InputError(f"the prompt about {item!r} has {problem}: shorten the texts.")

    def size(self, body: Body) -> int:
        """Say whether a response has a score of every option."""
        scores = body.get("scores")
        return int(isinstance(scores, dict) and set(scores) == set(self.options))

    def evidence(self, bodies: Sequence[Body]) -> Scores:
        """Read the scores of the options."""
        scores = bodies[0]["scores"]
        return Scores("logprob", list(scores.values()), list(scores))

    def describe(self, settings: Mapping[str, Any]) -> str:
        """Say what was scored, and in which precision."""
        return f"log-likelihood of options, {settings.get('precision')}"

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
