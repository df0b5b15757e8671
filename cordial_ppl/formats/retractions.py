"""What takes an answer back: "max score: 5", "I would not say good", the numbers of a list."""

import re

_OTHER = (
    r"(?<![^\W_])(?:max(?:imum|imal)?|min(?:imum|imal)?|highest|lowest|higher|lower|possible"
    r"|previous|prior|earlier|initial|preliminary|perfect|reference|gold|confidence|step|question"
    r"|item|page|line)(?![^\W_])"
)
OTHER = re.compile(_OTHER, re.IGNORECASE)
OTHER_BEFORE = re.compile(
    rf"{_OTHER}[\s_*\"'-]+(?:\w+[\s_*-]+)?\Z|\bout\s+of\s+(?:an?\s+)?\Z", re.IGNORECASE
)
"""What says that a score is another than the one given."""

NEGATED = re.compile(
    r"(?:\b(?:not|never|no|neither|nor|hardly|barely|without|cannot)|n't)\b"
    r"(?:\s+(?!but\b)[^\s.,;:!?]+){0,3}\s*\Z",
    re.IGNORECASE,
)
LESSENED = re.compile(
    r"\b(?:somewhat|slightly|part(?:ial)?ly|almost|nearly|less|more|mostly|rather|fairly|too)\s+\Z"
    r"|\b(?:for|than|to (?:get|earn|reach|receive|achieve|merit|deserve))"
    r"(?:\s+(?:an?|the))?(?:\s+\w+\s+of)?(?:\s+an?)?\s*\Z",
    re.IGNORECASE,
)
"""What makes an option of what follows no more: "somewhat agree", "for a score of 5"."""

REMARK = re.compile(r"\([^()]*\s[^()]*\)")

LETTERS = re.compile(r"\s*(?:[,/&]|\b(?:and|or)\b)\s*(?:(?:and|or)\s+)?(?!I\b)[A-Z]\b")
"""What makes a letter one of several: ", B and C"."""

NEAR = 60
"""Characters in which what comes before an answer is looked for."""


def is_other(text: str, opens: int, start: int) -> bool:
    """Whether what is announced is no answer: the highest possible score, the previous one.

    Args:
        text: The text.
        opens: Where the announcement starts.
        start: Where the option starts.
    """
    between = REMARK.sub("", text[opens:start])
    return bool(OTHER.search(between)) or _before(text, opens, OTHER_BEFORE)


def is_taken_back(text: str, opens: int, start: int) -> bool:
    """Whether an option in running text is denied, or is not what is meant.

    Args:
        text: The text.
        opens: Where what announces it starts; the option itself if nothing does.
        start: Where the option starts.
    """
    return _before(text, start, NEGATED, LESSENED) or _before(text, opens, NEGATED)


def is_listed(text: str, start: int, end: int) -> bool:
    """Whether an option is one of a list: "1. add sources 2. be brief", "A, B and C".

    Args:
        text: The text.
        start: Where the option starts.
        end: Where it ends.
    """
    option, mark = text[start:end], text[end : end + 1]
    if len(option) == 1 and option.isalpha() and LETTERS.match(text, end):
        return True
    if not mark or mark not in ".):" or not re.fullmatch(r"\d\d?|[^\W\d_]", option):
        return False
    before, after = (
        str(int(option) + step) if option.isdigit() else re.escape(chr(ord(option) + step))
        for step in (-1, 1)
    )
    mark = re.escape(mark)
    if re.search(rf"(?:\A|\n|[.:;!?]\s)[\s*_(-]*{before}{mark}", text[:start]):
        return True
    if re.match(rf".*?\s[*_(]*{after}{mark}[*_]*\s+\w", text[end:], re.DOTALL):
        return True
    # A text that begins with "1. Clear" may have been cut off before its second point.
    alone = option.isdigit() and not re.search(r"\w|[(\[]\Z", text[:start])
    return alone and bool(re.match(r"[.)][*_]*[^\S\n]+\w", text[end:]))


def _before(text: str, end: int, *patterns: re.Pattern[str]) -> bool:
    near = text[max(0, end - NEAR) : end]
    return any(pattern.search(near) for pattern in patterns)
