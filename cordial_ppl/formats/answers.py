"""Where in a generated text the answer stands: not a digit in the reasoning before it."""

import re
from typing import NamedTuple

from cordial_ppl.errors import InputError
from cordial_ppl.formats.announcements import Found, announcements
from cordial_ppl.formats.bounds import clear
from cordial_ppl.formats.signs import fold
from cordial_ppl.formats.spellings import Spellings

EXPLAINS = re.compile(
    r"\b(?:explanation|explain|reason(?:s|ing)?|rationale|justification|because|feedback)\b",
    re.IGNORECASE,
)
"""What an answer comes before, if it comes first."""

CORRECTS = re.compile(
    r"\b(?:on (?:second thought|reflection)|I (?:\w+ )?(?:reconsider|revise|change my)"
    r"|let me (?:correct|reconsider|revise)|scratch that)"
    r"|(?:^|[.!?])\W*(?:wait|actually|no|correction)\b[,.:!]",
    re.IGNORECASE | re.MULTILINE,
)
"""What stands between an answer and the one that replaces it."""

THOUGHT = re.compile(
    # Some prompts open the reasoning themselves: then only its end is in the text.
    r".*(?:</think(?:ing)?>|</thought>|\[/THINK\]|<\|channel\|>final<\|message\|>)",
    re.DOTALL,
)
"""Reasoning that is marked as such; an answer stands after it."""

UNENDED = re.compile(r"<think(?:ing)?>|<thought>|\[THINK\]|<\|channel\|>analysis<\|message\|>")
"""Reasoning that was cut off: there is no answer after it."""


class Place(NamedTuple):
    """An answer in a text.

    Attributes:
        option: Its position on the scale.
        start: Its first character in the text.
        end: The character after it.
        several: Whether the text announces others as well.
    """

    option: int
    start: int
    end: int
    several: bool = False


def as_pattern(text: str | None) -> re.Pattern[str] | None:
    """Compile the pattern after which a user's answers stand.

    Args:
        text: A regular expression, or None.

    Returns:
        The pattern, or None.

    Raises:
        InputError: It is no regular expression.
    """
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise InputError(
            f"the pattern before answers must be a regular expression: {text!r}: {error}."
        ) from error


def find_answer(
    text: str, spellings: Spellings, before: re.Pattern[str] | None = None
) -> Place | None:
    """Find the option that a text answers with.

    Marked reasoning and numbers that say how long the scale is ("1 to 5", "out of 5") hold none.
    Then the first of these that there is:

    1. The whole text, if it is an option.
    2. What is announced by a word and a mark ("Score: 4"), and called final or overall.
    3. What is announced so.
    4. What the text begins with, or has alone in its last line.
    5. What a phrase says, first "the final score is 4", then "I would give it a 4".
    6. A line such as "Clarity: 4", or an option that is a word, if the text has no other.

    Where several of one kind differ, an answer with which the text begins, or before an
    explanation, is taken: what follows explains it, unless it corrects it ("Wait").  Otherwise it
    is the last: what came before led to it.

    Args:
        text: The generated text.
        spellings: How options are written.
        before: What the answer follows; then nothing else is looked at.

    Returns:
        The option and where it is, or None if the text holds none, or cannot be decided.
    """
    text = fold(text)
    skipped = found.end() if (found := THOUGHT.match(text)) else 0
    ended = found.start() if (found := UNENDED.search(text, skipped)) else len(text)
    place = _find(clear(text[skipped:ended], spellings), spellings, before)
    return place and place._replace(start=place.start + skipped, end=place.end + skipped)


def _find(text: str, spellings: Spellings, before: re.Pattern[str] | None) -> Place | None:
    if before is not None:
        after = [spellings.pattern.search(text, found.end()) for found in before.finditer(text)]
        found = [Found(own[0], own.start(), own.end(), own.start()) for own in after if own]
        return _place(found[-1], spellings) if found else None
    if (whole := spellings.whole(text)) is not None:
        word = spellings.pattern.search(text) or re.search(
            r"[^\s\0](?:.*[^\s\0])?", text, re.DOTALL
        )
        return Place(whole, *(word.span() if word else (0, len(text))))
    known = announcements(spellings)
    for found in known.ranks(text):
        if found:
            return _choose(text, found, spellings)
    for found in known.mentions(text):
        if found:
            return _place(found[0], spellings) if len(_options(found, spellings)) == 1 else None
    return None


def _choose(text: str, found: list[Found], spellings: Spellings) -> Place | None:
    """One of several announced answers."""
    several = len(_options(found, spellings)) > 1
    first, last = found[0], found[-1]
    opens = not re.search(r"\w", text[: first.opens])
    explained = EXPLAINS.search(text, first.end, last.start) and not EXPLAINS.search(
        text, 0, first.start
    )
    corrected = CORRECTS.search(text, first.end, last.start)
    leads = several and (opens or explained) and not corrected
    place = _place(first if leads else last, spellings)
    return place and place._replace(several=several)


def _options(found: list[Found], spellings: Spellings) -> set[int | None]:
    return {spellings.match(own.text) for own in found}


def _place(found: Found, spellings: Spellings) -> Place | None:
    option = spellings.match(found.text)
    return None if option is None else Place(option, found.start, found.end)
