"""Models that answer questions, on a server or on this machine."""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from cordial_ppl.errors import InputError, ServerError
from cordial_ppl.logs.ask.prompt import Messages
from cordial_ppl.logs.evidence import Answer, Scores

Body = Mapping[str, Any]
"""A response, as it is kept in the cache; `usage` counts its tokens, as OpenAI does."""


class Refused(ServerError):
    """The model does not answer this question, and would not if it were repeated."""


class Model(ABC):
    """A model that answers questions.

    Attributes:
        name: Its name.
        settings: The settings of its decoding, which tell its answers apart in the cache.
        wanted: Answers to each question.
        concurrency: Questions at once, at most.
        patience: Failures in a row that end the run.
        has_answered: Whether it is known to answer, so that a refusal is about the question.
        connection: The connection that is open while questions are asked.
    """

    name: str
    settings: Mapping[str, Any]
    wanted: int = 1
    concurrency: int
    patience: float
    has_answered: bool = False
    connection: AbstractAsyncContextManager[Any] = nullcontext()

    @abstractmethod
    async def answer(self, messages: Messages, lacking: int) -> tuple[Mapping[str, Any], Body]:
        """Answer a question.

        Args:
            messages: The conversation.
            lacking: The number of answers that are lacking; the response may have fewer.

        Returns:
            The settings of the answer's decoding, and the response.

        Raises:
            InputError: No question can be answered.
            Refused: This question is not answered.
            ServerError: No answer came; the same question may get one later.
        """

    @abstractmethod
    def size(self, body: Body) -> int:
        """Count the answers in a response; 0 if it is damaged or lacks log-probabilities."""

    @abstractmethod
    def evidence(self, bodies: Sequence[Body]) -> list[Answer] | Scores:
        """Read the responses to a question."""

    @abstractmethod
    def describe(self, settings: Mapping[str, Any]) -> str:
        """Describe the decoding of an answer."""


def load(module: str, extra: str) -> Any:
    """Import a package of an extra; an `InputError` says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"asking a model this way needs {module}: pip install -e '.[{extra}]'."
        ) from error
