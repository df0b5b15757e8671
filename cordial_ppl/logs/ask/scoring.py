"""A model on this machine that scores every option of a question, many questions together."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import batched
from typing import Any

from cordial_ppl.logs.ask.asking import Asking, Model, Refused
from cordial_ppl.logs.ask.cache import Body
from cordial_ppl.logs.ask.local import LocalModel, tokenise
from cordial_ppl.logs.ask.questions import Question
from cordial_ppl.logs.evidence import Scores

BATCH, WINDOW = 16, 512
"""Prompts that go through the model together, and prompts that are sorted by length, so that there
is little padding."""


class Scoring(Model):
    """A model on this machine.

    Args:
        name: Its name.
        model: The model.
        options: The options, which are scored.
    """

    def __init__(self, name: str, model: LocalModel, options: Sequence[str]):
        self.name, self.model, self.options = name, model, options
        # Scores do not depend on the order of the options, except through the prompt.
        self.settings = {
            "scored": list(options),
            "precision": model.precision,
            "version": model.version,
        }

    def ask(self, questions: Iterator[tuple[Question, int]], asking: Asking) -> None:
        """Score the options after each prompt; one that is too long is refused."""
        longest = self.model.longest
        for window in batched(questions, WINDOW):
            waiting = []
            for question, _ in window:
                tokens = tokenise(self.model.tokenizer, question.messages, self.options)
                if tokens.length <= longest:
                    waiting.append((tokens, question))
                else:
                    words = f"{tokens.length} tokens, but {self.name!r} reads at most {longest}"
                    asking.fail(question, Refused(words))
            for batch in batched(sorted(waiting, key=lambda pair: pair[0].length), BATCH):
                rows = self.model.score([tokens for tokens, _ in batch])
                for (tokens, question), row in zip(batch, rows, strict=True):
                    read = len(tokens.prompt) + sum(map(len, tokens.options))
                    body = {
                        "scores": dict(zip(self.options, row.tolist(), strict=True)),
                        "usage": {"prompt_tokens": read, "completion_tokens": 0},
                    }
                    asking.keep(question, 1, self.settings, body)

    def size(self, body: Body) -> int:
        """Return 1: a response has a score of every option."""
        return 1

    def evidence(self, bodies: Sequence[Body]) -> Scores:
        """Read the scores of the options."""
        scores = bodies[0]["scores"]
        return Scores("logprob", list(scores.values()), list(scores))

    def describe(self, settings: Mapping[str, Any]) -> str:
        """Describe the scores and their precision."""
        return f"log-likelihood of options, {settings.get('precision')}"
