"""From answers to records: what readings are made from, with how they were made."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from cordial_ppl.formats.answers import find_answer
from cordial_ppl.formats.evidence import Answers, Record, Sequences, Several, Tokens
from cordial_ppl.formats.spellings import Spellings
from cordial_ppl.live.questions import Question, Questions

Show = Callable[[float, str], None]
"""Is told how much is done, 0 to 1, and what to say of it."""


class Found(NamedTuple):
    """What is known of a question.

    Attributes:
        evidence: What was answered.
        model: Who answered, in its own words.
        decoding: How.
        date: When, as "2025-12-31".
        cut: Answers that ended because they were allowed no more tokens.
    """

    evidence: Tokens | Answers | Sequences
    model: str
    decoding: str
    date: str
    cut: Sequence[str] = ()


@runtime_checkable
class Asker(Protocol):
    """A way to a model.

    Attributes:
        failures: Questions that got no answer: the text's name, and why.
    """

    failures: list[tuple[str, str]]

    def run(self, show: Show, partial: bool = False) -> None:
        """Ask all that has not been answered.

        Args:
            show: Is told of the progress.
            partial: Whether single questions may stay without an answer.
        """
        ...

    def find(self, question: Question) -> Found | None:
        """Find what was answered to a question; None if nothing was."""
        ...


class Records:
    """Every text that was answered, in the texts' order, as a record of a log.

    Args:
        questions: What was asked.
        find: Finds the answer to a question.
        reader: What to call the reader.
        task: What to call the task, if anything.

    Attributes:
        missing: Texts with a question that was not answered, which are left out.
        cut: Answers that ended because they were allowed no more tokens.
    """

    def __init__(
        self,
        questions: Questions,
        find: Callable[[Question], Found | None],
        reader: str,
        task: str | None = None,
    ):
        self.questions, self.find, self.reader, self.task = questions, find, reader, task
        self.missing: list[str] = []
        self.cut: list[str] = []

    def __iter__(self) -> Iterator[Record]:
        """Go through them, once."""
        for text, item in enumerate(self.questions.texts.item_ids):
            answers = [self.find(question) for question in self.questions.about(text)]
            found = [own for own in answers if own is not None]
            # A mean over some orders of the options only would not be free of their places.
            if len(found) < len(answers):
                self.missing.append(item)
                continue
            yield self._record(item, found)

    def cut_short(self, spellings: Mapping[str, str] | None, before: re.Pattern[str] | None) -> int:
        """Count the answers that ended before they named an option.

        Args:
            spellings: Further ways to write an option: {"A": "1"}.
            before: What answers follow.

        Returns:
            How many, of the records that were gone through.
        """
        known = Spellings(self.questions.prompt.scale, spellings)
        return sum(find_answer(text, known, before) is None for text in self.cut)

    def _record(self, item: str, found: Sequence[Found]) -> Record:
        place = f"the answer about {item!r}"
        self.cut += [text for own in found for text in own.cut]
        parts = [own.evidence for own in found]
        return Record(
            item_id=item,
            evidence=parts[0] if len(parts) == 1 else Several(parts),
            place=place,
            reader=self.reader,
            task=self.task,
            made={
                "model": each(own.model for own in found),
                "prompt": self.questions.digest,
                "decoding": each(own.decoding for own in found),
                "date": max(own.date for own in found),
            },
        )


def each(words: Iterable[str]) -> str:
    """Say everything once, in order: "gpt-4o; gpt-4o-mini"."""
    return "; ".join(dict.fromkeys(words))
