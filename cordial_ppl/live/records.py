"""From answers to records: what readings are made from, with how they were made."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from cordial_ppl.formats.evidence import Answers, Record, Sequences, Several, Tokens
from cordial_ppl.live.questions import Question, Questions


class Found(NamedTuple):
    """What is known of a question.

    Attributes:
        evidence: What was answered.
        model: Who answered, in its own words.
        decoding: How.
        date: When, as "2025-12-31".
    """

    evidence: Tokens | Answers | Sequences
    model: str
    decoding: str
    date: str


def records(
    questions: Questions, find: Callable[[Question], Found], reader: str, task: str | None = None
) -> Iterator[Record]:
    """Read every answer.

    Args:
        questions: What was asked.
        find: Finds the answer to a question.
        reader: What to call the reader.
        task: What to call the task, if anything.

    Yields:
        A record a text, in the texts' order.
    """
    for text, item in enumerate(questions.texts.item_ids):
        found = [find(question) for question in questions.about(text)]
        parts, last = [own.evidence for own in found], found[-1]
        yield Record(
            item_id=item,
            evidence=parts[0] if len(parts) == 1 else Several(parts),
            place=f"the answer about {item!r}",
            reader=reader,
            task=task,
            made={
                "model": last.model,
                "prompt": questions.digest,
                "decoding": last.decoding,
                "date": last.date,
            },
        )
