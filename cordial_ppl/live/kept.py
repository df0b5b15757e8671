"""What a server has answered so far, as a cache keeps it."""

import datetime
from collections.abc import Mapping
from typing import Any

from cordial_ppl.live.cache import Answer, Cache, key_of
from cordial_ppl.live.decoding import Decoding, describe
from cordial_ppl.live.questions import Question
from cordial_ppl.live.records import Found, each
from cordial_ppl.live.responses import (
    WRONG,
    Completion,
    as_answers,
    as_tokens,
    cut_answers,
    has_alternatives,
    is_mute,
    read_completion,
)


class Kept:
    """Answers of one model, decoded in one way.

    Args:
        cache: The file.
        model: The model's name.
        decoding: How answers are decoded.
    """

    def __init__(self, cache: Cache, model: str, decoding: Decoding):
        self.cache, self.model, self.decoding = cache, model, decoding

    @property
    def wanted(self) -> int:
        """Answers that a question needs."""
        return max(self.decoding.samples, 1)

    def is_usable(self, body: Completion) -> bool:
        """Say whether an answer is one: only a mute one needs no log-probabilities."""
        return bool(self.decoding.samples) or is_mute(body) or has_alternatives(body)

    def get(self, question: Question, taken: int = 0) -> Answer | None:
        """Find an answer.

        Args:
            question: The question.
            taken: Answers to it that come before.

        Returns:
            The answer; None if there is none that can be used.
        """
        answer = self.cache.get(self._key(question, taken))
        try:
            usable = answer is not None and self.is_usable(read_completion(answer.body))
        except WRONG:
            return None
        return answer if usable else None

    def put(
        self, question: Question, taken: int, settings: Mapping[str, Any], body: Completion
    ) -> Answer:
        """Keep an answer of today.

        Args:
            question: The question.
            taken: Answers to it that come before.
            settings: How it was decoded.
            body: The response.

        Returns:
            The answer.
        """
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        answer = Answer(settings, body, today)
        self.cache.put(self._key(question, taken), answer)
        return answer

    def all(self, question: Question) -> list[Answer]:
        """Every answer to a question; none while some are missing."""
        found: list[Answer] = []
        taken = 0
        while taken < self.wanted:
            answer = self.get(question, taken)
            if answer is None:
                return []
            found.append(answer)
            taken += len(answer.body["choices"])
        return found

    def find(self, question: Question) -> Found | None:
        """Find what was answered to a question.

        Args:
            question: A question.

        Returns:
            The answer; None if there is none.
        """
        known = self.all(question)
        if not known:
            return None
        bodies, samples = [answer.body for answer in known], self.decoding.samples
        return Found(
            as_answers(bodies, samples) if samples else as_tokens(bodies[0]),
            each(str(body.get("model") or self.model) for body in bodies),
            each(describe(answer.settings, samples) for answer in known),
            max(answer.date for answer in known),
            cut_answers(bodies, samples),
        )

    def _key(self, question: Question, taken: int) -> str:
        return key_of(self.model, question.messages, self.decoding.settings, taken)
