"""Where in a generated text the answer stands: not a digit in the reasoning before it."""

import re
from typing import NamedTuple

from cordial_ppl.errors import InputError
from cordial_ppl.formats.spellings import MARKS, Spellings

ANNOUNCED = re.compile(
    r"(?:score|rating|answer|grade|verdict|label|judg(?:e)?ment|stars|level)s?"
    r"[\s\"'*_`]*(?:is|of|would be|should be|=|:|-)?[\s\"'*_`=:(\[{<$]*(?:an?\s+|\\boxed\{)?",
    re.IGNORECASE,
)
"""What announces an answer that follows at once."""

BOUNDS = re.compile(
    r"\b\d+(?:\.\d+)?\s*(?:-|–|—|to|through)\s*\d+(?:\.\d+)?\b|(?<=\d)\s*(?:/|out of)\s*\d+"
    r"|\b(?:out of|at most|maximum of|max)\s+\d+\b",
    re.IGNORECASE,
)
"""Numbers that say how long the scale is: "1 to 5", "/5", "out of 5"."""


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

    The whole text, if it is an option; else the last option that a word such as "score:" announces;
    else an option that the text begins with, alone on its line; else the last one in the text.
    Numbers that say how long the scale is ("1 to 5", "out of 5") are none.

    Args:
        text: The generated text.
        spellings: How options are written.
        before: What the answer follows; then nothing else is looked at.

    Returns:
        The option and where it starts, or None if the text holds none.
    """
    text = text.translate(MARKS)
    whole = spellings.match(text)
    if whole is not None and before is None:
        word = re.search(r"[+-]?\w|\S", text)
        return Place(whole, word.start() if word else 0)
    # As many spaces, so that places stay where they are.
    text = BOUNDS.sub(lambda found: " " * len(found.group()), text)
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


def _place(found: list[re.Match[str]], spellings: Spellings) -> Place | None:
    if not found:
        return None
    option = spellings.match(found[-1].group())
    return None if option is None else Place(option, found[-1].start())
