"""Numbers in a text that bound its scale and are no answers: "1 to 5", "out of 5"."""

import re
from collections.abc import Iterator

from cordial_ppl.formats.signs import lower
from cordial_ppl.formats.spellings import WORDS, Spellings

FILL = "\0"
"""Stands in place of a bound, so that places stay where they are: "4 out of 5" is "4" and this."""

SPECIAL = re.compile(r"<\|[^|<>]*\|>|</?s>|<(?:eos|end_of_turn)>")
"""Tokens that a tokenizer adds around an answer."""

# Expressions that begin with a set of characters are searched for many times as fast.
_EDGE = r"(?![\w%]|\.\d)"
_FIRST = (
    rf"[0-9{''.join(sorted({word[0] for word in WORDS}))}](?<![\w.].)"
    rf"(?:(?<=\d)\d*(?:\.\d+)?|{'|'.join(sorted({word[1:] for word in WORDS}))}){_EDGE}"
)
_N = rf"(?:[+-]?\d+(?:\.\d+)?|{'|'.join(WORDS)}){_EDGE}"
_S = r"[^\S\n]{0,9}"
_GLOSS = rf"(?:{_S}\([^()\n]{{0,40}}\))?"
_TO = rf"{_GLOSS}{_S}(?:-|–|—|\.{{2,3}}|to\b|through\b){_S}{_N}{_GLOSS}"
_AND = rf"{_GLOSS}\s+and\s+{_N}{_GLOSS}"
_MOST = r"(?:max(?:imum|imal)?|min(?:imum|imal)?|highest|lowest)\b"
_OF = r"(?:(?:an?|the|possible|maximum|max|total|full|perfect|score|rating|of)\s+){0,4}"

NUMBERED = re.compile(
    rf"(?P<part>{_FIRST})(?:"
    # "1, 2, 3", "1, 2 or 3", "1/2/3", "3 or 4"
    rf"(?:{_S},{_S}{_N})+,?\s+(?:or|and)\s+{_N}|(?:{_S},{_S}{_N}){{2,}}"
    rf"|(?:{_S}/{_S}{_N}){{2,}}|\s+or\s+{_N}"
    # "4/5", "four out of the five", "4 of 5"
    rf"|{_S}(?:/|out\s+of\b|of\b){_S}{_OF}(?P<whole>{_N})"
    # "1 to 5"; "3 to 4" decides nothing either.
    rf"|{_TO}"
    # "5 maximum", "5 is the best"
    rf"|[^\S\n]{{1,9}}{_MOST}|\s+(?:is|being|=|means)\s+(?:the\s+)?(?:{_MOST}|(?:best|worst|top)\b))"
)
"""Bounds that begin with a number."""

NAMED = re.compile(
    rf"[a-z](?<!\w.)(?:(?:(?<=s)cale|(?<=r)ange)\b(?:[^.,;\d\n]{{0,30}}?\b(?:{_N}{_TO}|between\s+{_N}"
    rf"{_AND})|\s+of\s+{_N})|etween\s+{_N}{_AND}|rom\s+{_N}{_TO}"
    rf"|(?:t most|t least|p to|ore than|ess than|ewer than|bove|elow|ut of)\s+{_OF}{_N}"
    rf"|(?:ax(?:imum|imal)?|in(?:imum|imal)?|ighest|owest)[^\S\n]{{1,9}}(?:possible\s+)?"
    rf"(?:(?:score|rating|grade|points?)\s+)?(?:is|of|:)?\s*{_N})"
)
"""Bounds that begin with a word: "scale from 1 (worst) to 5 (best)", "at most 5", "maximum: 5"."""

LEAD = re.compile(r"(?:\b(?:on|using|in)\s+)?(?:\b(?:an?|the|this)\s+)?\Z")


def clear(text: str, spellings: Spellings) -> str:
    """Put something else in place of what looks like an answer and is none.

    Bounds of a scale become `FILL`.  A part of another whole than the scale's top ("3/10" on a
    scale up to 5) is no answer either.  What is an option itself ("0-2", "4/5") stays.

    Args:
        text: A text in plain signs.
        spellings: How options are written.

    Returns:
        As many characters.
    """
    text = SPECIAL.sub(lambda found: " " * len(found[0]), text)
    text = _fill(text, _named(lower(text)))
    return _fill(text, _numbered(lower(text), spellings))


def _named(text: str) -> Iterator[tuple[int, int]]:
    for found in NAMED.finditer(text):
        before = text[max(0, found.start() - 20) : found.start()]
        if text.startswith(("scale", "range"), found.start()):
            lead = LEAD.search(before)
            yield found.start() - (len(lead[0]) if lead else 0), found.end()
        elif not (text.startswith("out", found.start()) and re.search(rf"{_N}\s*\Z", before)):
            yield found.span()


def _numbered(text: str, spellings: Spellings) -> Iterator[tuple[int, int]]:
    for found in NUMBERED.finditer(text):
        if spellings.joined and spellings.match(found[0]) is not None:
            continue
        top, whole = spellings.top, found["whole"]
        whole_scale = whole is not None and top in (None, _number(whole))
        yield (found.end("part") if whole_scale else found.start()), found.end()


def _fill(text: str, spans: Iterator[tuple[int, int]]) -> str:
    parts, end = [], 0
    for start, stop in spans:
        parts += [text[end:start], FILL * (stop - start)]
        end = stop
    return "".join([*parts, text[end:]])


def _number(text: str) -> float:
    return float(WORDS.index(text)) if text in WORDS else float(text)
