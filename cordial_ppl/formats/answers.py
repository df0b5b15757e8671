"""Where in a generated text the answer stands: not a digit in the reasoning before it."""

import re
from typing import NamedTuple

from cordial_ppl.errors import InputError
from cordial_ppl.formats.spellings import MARKS, Spellings

ANNOUNCED = re.compile(
    r"(?<![^\W_])(?:score|rating|answer|grade|verdict|label|judge?ment|stars|level)s?"
    # Brackets, quotes, colons; a minus only where it is a dash, for it may belong to a number.
    r"(?:[\s\"'*_`=:()\[\]{}<>$]|[-–—]+>?\s)*(?:(?:is|of|would be|should be)[\s\"'*_`:]+)?"
    r"(?:an?\s+|\\boxed\{)?",
    re.IGNORECASE,
)
"""What announces an answer that follows at once."""

BOUNDS = re.compile(
    r"\b\d+(?:\.\d+)?\s*(?:-|–|—|to|through)\s*\d+(?:\.\d+)?\b|(?<=\d)\s*(?:/|out of)\s*\d+"
    r"|\b(?:out of|at most|maximum of|max)\s+\d+\b",
    re.IGNORECASE,
)
"""Numbers that say how long the scale is: "1 to 5", "/5", "out of 5"."""

THOUGHT = re.compile(r".*(?:</think(?:ing)?>|<\|channel\|>final<\|message\|>)", re.DOTALL)
"""Reasoning that is marked as such; an answer stands after it."""

SPECIAL = re.compile(r"<\|[^|<>]*\|>|</?s>|<(?:eos|end_of_turn)>")
"""Tokens that a tokenizer adds around an answer."""


class Place(NamedTuple):
    """An answer in a text.

    Attributes:
        option: Its position on the scale.
        start: Its first character in the text.
    """

    option: int
    start: int


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

    Only what follows marked reasoning ("</think>") is looked at.  There, the whole text, if it is
    an option; else the last option that a word such as "score:" announces; else an option that the
    text begins with, alone on its line; else the last one in the text.  Numbers that say how long
    the scale is ("1 to 5", "out of 5") are none.

    Args:
        text: The generated text.
        spellings: How options are written.
        before: What the answer follows; then nothing else is looked at.

    Returns:
        The option and where it starts, or None if the text holds none.
    """
    text = _blank(text.translate(MARKS), THOUGHT, SPECIAL)
    whole = spellings.match(text)
    if whole is not None and before is None:
        word = spellings.pattern.search(text) or re.search(r"\S", text)
        return Place(whole, word.start() if word else 0)
    text = BOUNDS.sub(lambda found: _unless_option(found.group(), spellings), text)
    if before is not None:
        places = [spellings.pattern.search(text, found.end()) for found in before.finditer(text)]
        return _place([place for place in places if place], spellings)
    announced = [
        place
        for found in ANNOUNCED.finditer(text)
        if (place := spellings.pattern.match(text, found.end()))
    ]
    if announced:
        return _place(announced, spellings)
    found = list(spellings.pattern.finditer(text))
    if found and re.fullmatch(r"[\s\"'*_`(\[#]*", text[: found[0].start()]):
        rest = text[found[0].end() :].lstrip(" \t*_`\"')]")
        if not rest or rest[0] in "\n.:,;-–—":
            return _place(found[:1], spellings)
    return _place(found, spellings)


def _blank(text: str, *patterns: re.Pattern[str]) -> str:
    """Put spaces in place of what matches: as many, so that places stay where they are."""
    for pattern in patterns:
        text = pattern.sub(lambda found: " " * len(found.group()), text)
    return text


def _unless_option(text: str, spellings: Spellings) -> str:
    """Spaces in place of a text that is no option: a scale may have "0-2" on it."""
    return text if spellings.match(text) is not None else " " * len(text)


def _place(found: list[re.Match[str]], spellings: Spellings) -> Place | None:
    if not found:
        return None
    option = spellings.match(found[-1].group())
    return None if option is None else Place(option, found[-1].start())
