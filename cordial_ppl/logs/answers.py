r"""Where a generated text gives its answer: what announces one, never a number in passing.

Looked at in this order, until something is found; the last of its kind counts:

1. what follows a pattern that the user gives, and then nothing else;
2. brackets and keys: `[[4]]`, `\\boxed{4}`, `[RESULT] 4`, `<score>4</score>`, `"score": 4`;
3. a word and a mark, at a line's beginning or after a sentence: "Final rating: 4";
4. a text, or its first line, that is nothing but the answer;
5. if the user allows a guess, the last line that is nothing but the answer, what a sentence rates
   the text with ("I give it a 4"), or what the text begins with.

If what is announced is not an option ("Rating: 8.5", "Score: 3-4"), there is no answer; nor if
fields of one text disagree, or a word with the brackets before it, or ratings under headings of
their own; nor if what follows takes the answer back.
"""

import re
from collections import Counter
from typing import NamedTuple

from cordial_ppl.errors import InputError
from cordial_ppl.logs.doubts import (
    DESERVED,
    FINAL,
    NOUN,
    PART,
    REFUSED,
    RETRACTED,
    SPACE,
    is_headed,
    part_of,
)
from cordial_ppl.logs.spellings import WORDS, Spellings, fold

SOURCES = {
    "pattern": "after the pattern",
    "marked": "in brackets or under a key",
    "named": 'after a word such as "Score:"',
    "alone": "alone in the text or on its first line",
    "guess": "guessed from prose",
}
"""Where answers stand, in the order in which they are looked for."""

LOST = {
    "off": "announce something that is not an option, or contradict themselves",
    "prose": "announce nothing",
}
"""Why there is no answer in a text."""

_EMOJI = "\u200d\ufe0f\u2600-\u27bf\u2b50\U0001f000-\U0001faff"
_SHUT = r"(?:[^\S\n]|[*_`\"')\]}$\\])*+"
_N = rf"(?:\d+(?:\.\d+)?|{'|'.join(WORDS)})(?![^\W_]|%|\.\d)"
_KEY = rf"(?:{FINAL}[ _-]?)?(?:{NOUN}|overall|result)"
_LEAD = r"(?:(?:so|thus|therefore|hence|the|my|your|our|final|overall|total|evaluation)[ \t,_-]+)"

MARKED = re.compile(
    # [[1]](https://...) is a source.
    rf"\[\[(?=[^\[\]\n]*\]\](?!\())|\\boxed\{{(?:\\\w+\{{)?"
    rf"|[\[【]{_KEY}[\]】]{SPACE}:?|<{_KEY}>|[\"']{_KEY}[\"']{SPACE}:",
    re.IGNORECASE,
)
FIELD = re.compile(r"[<\"'](?!final|overall|total)", re.IGNORECASE)
NAMED = re.compile(
    rf"(?:^|[.!?;\]][\"'*_)]*[^\S\n])[^\w\n]{{0,12}}(?:\d{{1,2}}[.)]{SPACE}[*_]*)?{_LEAD}{{0,4}}"
    rf"(?:{NOUN}(?:{SPACE}\bis)?{_SHUT}(?:\([^()\n]{{0,40}}\d[^()\n]{{0,20}}\))?"
    rf"|(?:final|overall)(?:[ _-]\w*[^\Ws])?{_SHUT}(?:\([^()\n]{{0,60}}\))?){_SHUT}"
    rf"(?:[:=|→⇒{_EMOJI}]|[-–—]+>?(?=[^\S\n])|(?=\n))",
    re.IGNORECASE | re.MULTILINE,
)
"""Not "Clarity score:", "Score (style):" or "Final scores:", which announce parts of the rating."""

COMPARED = re.compile(rf"{SPACE}(?:[>≥≤⩾⩽]|<{SPACE}=?{SPACE}\d+\b(?!>)|[-–—+][^\S\n])")
"""What makes a number a bound, or an apart sign a number below zero: "> 3", "- 1"."""

OPENED = re.compile(rf"(?:[^\S\n]|[\"'*_`(\[{{<>$|\\:={_EMOJI}])*")
_UNIT = r"(?:-?stars?\b|p(?:oi|o|u)n[tk]\w*|[分点點星점])?"
UNIT = re.compile(
    rf"{_SHUT}{_UNIT}{_SHUT}(?:(?:/|(?:out\s+)?of\b|von\b|sur\b|de\b|su\b|из\b){SPACE}"
    rf"(?:(?:an?|the|possible)\s+){{0,2}}(?P<top>{_N}))?{_SHUT}{_UNIT}{_SHUT}",
    re.IGNORECASE,
)
"""What belongs to an answer: "4 out of 5 stars"."""

STOP = re.compile(
    rf"\Z|\n|[.!?。](?!\d)|[-,、;:(|<\[–—#→⇒{_EMOJI}]|(?:because|since|as|due)\b", re.IGNORECASE
)
"""An answer is not followed by what it could count or describe: "2 flaws", "good enough"."""

LINE = re.compile(r"(?m)^(?=.*[^\W_])")
ENDED = re.compile(r"(?:\([^()\d\n]*\))?[^\w\n]*(?:\n|\Z)")
EMPTY = re.compile(r"[^\w\[\n]*\n+(?=.*[^\W_])")
NUMBERED = re.compile(r"\w{1,2}[.)](?!\d)")
ALSO = re.compile(
    rf"(?:\([^()\n]*\){SPACE})?(?:[,;/&~|→⇒]|[-–—]+>?|\bto\b|\band\b|\bor\b|(?<=\))|(?<=\)\s)){SPACE}",
    re.IGNORECASE,
)
DIGIT = re.compile(rf"[+#-]?\d[\d.,]*(?:\s?[%+])?|{_N}|(?:n/a|null|none)\b", re.IGNORECASE)
HEDGED = re.compile(r"(?:[^\W\d]+\s|[~≈]\s?){0,2}")
"""What is announced if it is no option: "none", "about 3.5"."""

BRIEF = re.compile(r"[^\s\"'\]}>|][^\n\"'\]}>|]{0,29}(?=[\"'\]}>|\n]|\Z)")

RATED = re.compile(
    r"(?<!\bnot\s)(?<!n't\s)\b(?:rat(?:ed?|ing)|scor(?:ed?|ing)|graded?|given?|deserves?|earns?"
    r"|assign|award|call|go with)\b(?:(?!\b(?:than|between|from)\b)[^\d.!?;<>≥≤\n]){0,60}?\b",
    re.IGNORECASE,
)
"""What announces an answer in prose, for those who allow a guess."""

BOUND = re.compile(
    r"[,(\[]\s?(?:out of|max|(?:on a )?scale|range|of \d|/|\d+\s?(?:-|–|to))[^()\n]*", re.IGNORECASE
)
"""What names the scale behind an answer: "4 (out of 10)"."""

SPECIAL = re.compile(
    r"<\|[^|<>]*\|>|</?s>|<(?:eos|end_of_turn)>|\[END\]"
    r"|^[^\w\n]{0,9}question\b[^\n]*\n+[^\w\n]{0,9}answer\b[^\n]*",
    re.IGNORECASE | re.MULTILINE,
)
"""Tokens that a tokenizer adds around an answer; what was judged, quoted."""

THOUGHT = re.compile(
    # Some prompts open the reasoning themselves: then only its end is in the text.
    r".*(?:</think(?:ing)?>|</thought>|\[/THINK\]|<\|channel\|>final<\|message\|>)",
    re.DOTALL,
)
UNENDED = re.compile(r"<think(?:ing)?>|<thought>|\[THINK\]|<\|channel\|>analysis<\|message\|>")
"""Reasoning, which holds no answer; what was cut off in the middle of it has none."""


class Place(NamedTuple):
    """An answer in a text.

    Attributes:
        option: Its position on the scale; None if what is announced is not an option.
        start: Its first character in the text.
        end: The character after it.
        several: Whether the text announces other options in the same way.
        source: Where it stands, a key of `SOURCES`.
    """

    option: int | None
    start: int
    end: int
    several: bool = False
    source: str = ""


def as_pattern(text: str | None, guess: bool = False) -> re.Pattern[str] | None:
    """Compile the pattern that answers follow.

    Args:
        text: The pattern, or None.
        guess: Whether prose may give the answer too.

    Returns:
        The pattern, or None.

    Raises:
        InputError: It is no regular expression, or an answer would have to be guessed too.
    """
    if text is not None and guess:
        raise InputError(
            "--after and --guess exclude each other: an answer that follows a pattern is no guess."
        )
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise InputError(
            f"the pattern before answers must be a regular expression: {text!r}: {error}."
        ) from error


class Finder:
    """Finds the answers of texts, and counts where they stand.

    Args:
        spellings: How options are written.
        before: What the answer follows; then nothing else is looked at.
        guess: Whether prose may give the answer.

    Attributes:
        counts: Texts by the source of their answer, or by why they have none (`LOST`).
    """

    def __init__(
        self, spellings: Spellings, before: re.Pattern[str] | None = None, guess: bool = False
    ):
        self.spellings, self.before, self.guess = spellings, before, guess
        self.counts: Counter[str] = Counter()
        self._any, self._cased = spellings.pattern(cased=False), spellings.pattern()
        self._rated, self._deserved = (
            re.compile(rf"(?:{own.pattern})(?={self._cased.pattern})", re.IGNORECASE)
            for own in (RATED, DESERVED)
        )

    def find(self, text: str, told: int | None = None) -> Place | None:
        """Find the option that a text answers with.

        Args:
            text: The generated text.
            told: The option that the log says it is, if it does; then no other is an answer.

        Returns:
            The option and where it is; None if there is none.
        """
        text = fold(text)
        skipped = found.end() if (found := THOUGHT.match(text)) else 0
        ended = found.start() if (found := UNENDED.search(text, skipped)) else len(text)
        text = SPECIAL.sub(lambda found: " " * len(found[0]), text[skipped:ended])
        place = self._find(text)
        if place and self.before is None and self._is_revoked(text, place):
            place = place._replace(option=None)
        if place is None or place.option is None or told not in (None, place.option):
            self.counts["prose" if place is None else "off"] += 1
            return None
        self.counts[place.source] += 1
        return place._replace(start=place.start + skipped, end=place.end + skipped)

    def _find(self, text: str) -> Place | None:
        if self.before is not None:
            return self._last(text, self.before, "pattern")
        marked = self._last(text, MARKED, "marked")
        named = self._last(text, NAMED, "named")
        if marked and named and marked.option != named.option:
            later = named.start >= marked.start
            return marked._replace(option=None if later else marked.option, several=True)
        return marked or named or self._alone(text)

    def _last(self, text: str, opener: re.Pattern[str], source: str) -> Place | None:
        """The last answer that follows an expression."""
        last, options, parts = None, set(), {}
        for found in opener.finditer(text):
            if place := self._value(text, found.end(), source):
                field = FIELD.match(found[0]) is not None
                if (
                    field
                    and PART.search(text, 0, found.start())
                    or self._is_bounded(found[0].partition("(")[2])
                ):
                    place = place._replace(option=None)
                last = place._replace(several=field)
                options.add(place.option)
                part = part_of(text, found) if source in ("marked", "named") and not field else None
                if part:
                    parts[part] = place.option
        if last is None:
            return None
        headed = len(parts) == 1 and is_headed(text, last.start, last.end)
        if part and (headed or len(set(parts.values())) > 1):
            return last._replace(option=None, several=True)
        # Fields that disagree are of several things; elsewhere a judge changes its mind.
        several = len(options - {None}) > 1
        return last._replace(
            option=None if several and last.several else last.option, several=several
        )

    def _value(self, text: str, start: int, source: str) -> Place | None:
        """What is announced at a place: an option, something else (None), or nothing."""
        if source in ("marked", "named") and (ended := EMPTY.match(text, start)):
            # A heading announces the line below, if that is nothing but the answer.
            below = self._line(text, ended.end())
            return below and below._replace(source=source)
        if COMPARED.match(text, start):
            return Place(None, start, start, source=source)
        start = _skip(OPENED, text, start).end()
        if found := self._any.match(text, start):
            unit = _skip(UNIT, text, found.end())
            bound = BOUND.match(text, unit.end())
            if bound and self._is_bounded(bound[0]):
                return Place(None, *found.span(), source=source)
            if _is_listed(text, start, found.end()):
                return None
            if unit["top"] is None or self.spellings.match(unit["top"]) == self.spellings.top:
                also = ALSO.match(text, unit.end())
                end = also and _skip(OPENED, text, also.end()).end()
                several = end and any(one.match(text, end) for one in (self._cased, DIGIT))
                alone = not several and (source == "pattern" or STOP.match(text, unit.end()))
                option = self.spellings.match(found[0]) if alone else None
                return Place(option, *found.span(), source=source)
        hedged = start if source == "alone" else _skip(HEDGED, text, start).end()
        if source == "pattern" or (found := DIGIT.match(text, hedged)):
            return Place(None, start, found.end() if found else start, source=source)
        # On a scale of words any few words after a mark may be meant as the answer.
        brief = source != "alone" and not self.spellings.numeric and BRIEF.match(text, start)
        return Place(None, start, start, source=source) if brief else None

    def _is_bounded(self, bounds: str) -> bool:
        """Whether an announcement names another top than that of the scale: "(out of 10)"."""
        numbers = re.findall(r"\d+(?:\.\d+)?", bounds)
        if not numbers or not self.spellings.numeric:
            return False
        return self.spellings.match(max(numbers, key=float)) != self.spellings.top

    def _is_revoked(self, text: str, place: Place) -> bool:
        """Whether what follows an answer refuses to rate, or retracts it for another option."""
        if REFUSED.search(text, place.end):
            return True
        taken = RETRACTED.search(text, place.end)
        others = [
            one
            for which in (self._cased, DIGIT)
            for one in (which.finditer(text, taken.end()) if taken else ())
        ]
        deserved = self._deserved.finditer(text, place.end)
        others += [self._cased.match(text, found.end()) for found in deserved]
        return any(one and self.spellings.match(one[0]) != place.option for one in others)

    def _alone(self, text: str) -> Place | None:
        """The answer that the first line is, unless another line is another; or a guess."""
        starts = [found.start() for found in LINE.finditer(text)] or [0]
        lines = [self._line(text, start) for start in starts]
        rated = self.guess and self._last(text, self._rated, "guess") or None
        if len({place.option for place in lines if place}) > 1 or rated and rated.several:
            return None
        if lines[0] or not self.guess:
            return lines[0]
        place = lines[-1] or rated or self._value(text, 0, "alone")
        return place and place._replace(source="guess")

    def _line(self, text: str, start: int) -> Place | None:
        """The answer that a line is; "1." numbers what is around it."""
        place = self._value(text, start, "alone")
        if place is None or NUMBERED.match(text, place.start) and "\n" in text.strip():
            return None
        return place if ENDED.match(text, _skip(UNIT, text, place.end).end()) else None


def _skip(pattern: re.Pattern[str], text: str, start: int) -> re.Match[str]:
    """Match an expression that may be empty."""
    found = pattern.match(text, start)
    assert found is not None
    return found


def _is_listed(text: str, start: int, end: int) -> bool:
    """Whether an option numbers an entry of a list: "1. Clear 2. Short"."""
    option, mark = text[start:end], text[end : end + 1]
    if mark not in (".", ")") or not re.fullmatch(r"\d\d?|[^\W\d_]", option):
        return False
    following = str(int(option) + 1) if option.isdigit() else re.escape(chr(ord(option) + 1))
    return bool(re.compile(rf"(?<!\w){following}\{mark}[*_]*\s").search(text, end))
