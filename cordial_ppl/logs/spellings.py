"""How a model may write the options: which text means which option, and which text begins one."""

import re
import unicodedata
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import NamedTuple

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")

MARKS = str.maketrans("Ġ▁Ċ‐‑−‘’“”", "  \n---''\"\"")
"""Spaces and line ends as the vocabularies of tokenizers write them; typographic signs."""

BEFORE = r"(?<![^\W_])(?<![^\W_]_)(?<![./#%+\\-])(?<!\d,)"
AFTER = r"(?!(?![分点點星점])\w*[^\W_]|[.,:]\d|\+|-(?!\s|(?i:stars?)\b))"
"""Edges of a spelling in a text: 4 is not in "4.5", "-4", "4+" or "GPT-4"."""

COUNTED = re.compile(r"#\s?\d|\d\s?[%+]")
"""Numbers of something else: "#4", "4 %", "4+"."""

REMEMBERED = 2**16
"""Texts whose meaning is cached: logs repeat the same few thousand tokens."""


class Meaning(NamedTuple):
    """What a text says of the options.

    Attributes:
        whole: The option that it means, by its place on the scale.
        begun: Other options that it may become.
        mute: Options that it may become but is no evidence for: "F" may begin "Four", and "B",
            which is an option, "Best".
    """

    whole: int | None
    begun: frozenset[int]
    mute: frozenset[int]


class Spellings:
    """Every way to write each of K options.

    The option '4' may stand as "4", " 4", "**4**", "4.0", "Four": spaces, case and punctuation
    around it are ignored, unless the options differ in nothing else ("+" and "++").  On a scale
    with negative numbers, "+1" is '1'.

    Args:
        scale: The options.
        extra: Further texts, each with the option that it means: {"A": "1"}.

    Raises:
        InputError: A further text names no option, or means another one already.
    """

    def __init__(self, scale: Scale, extra: Mapping[str, str] | None = None):
        self.scale = scale
        spelled = list(zip(scale.options, range(scale.size), strict=True))
        for text, option in (extra or {}).items():
            if option not in scale.options:
                raise InputError(
                    f"a spelling must stand for one of {', '.join(scale.options)}; "
                    f"found {text!r} for {option!r}."
                )
            spelled.append((text, scale.options.index(option)))
        alike = len({loose(option) for option in scale.options}) < scale.size
        self._exact = alike or not all(loose(text) for text, _ in spelled)
        self._texts: dict[str, int] = {}
        for text, option in spelled:
            previous = self._texts.setdefault(self.plain(text), option)
            if previous != option:
                raise InputError(
                    f"{text!r} cannot stand for the option {scale.options[option]!r}: it already "
                    f"stands for {scale.options[previous]!r}."
                )
        letters = [fold(text).strip() for text, _ in spelled]
        self._letters = {self.plain(one): one for one in letters if len(one) == 1 and one.isalpha()}
        self._numbers: dict[float, int] = {}
        for text, option in spelled:
            if NUMBER.fullmatch(plain := self.plain(text)):
                self._numbers.setdefault(float(plain), option)
        self._worded: dict[str, int] = {}
        for number, option in self._numbers.items():
            if number.is_integer():
                self._texts.setdefault(f"{number:.0f}", option)
            if number > 0.0 > min(self._numbers):
                self._texts.setdefault(f"+{number:g}", option)
            if number in range(len(WORDS)) and WORDS[int(number)] not in self._texts:
                self._worded[WORDS[int(number)]] = option
        self._texts |= self._worded
        self.meaning = lru_cache(REMEMBERED)(self._meaning)

    @cached_property
    def top(self) -> int | None:
        """Return the option that is the greatest number, if all are numbers; else None."""
        numeric = set(self._numbers.values()) == set(range(self.scale.size))
        return self._numbers[max(self._numbers)] if numeric else None

    def plain(self, text: str) -> str:
        """Drop what does not count: spaces, case and punctuation around the words."""
        return fold(text).strip() if self._exact else loose(text)

    def match(self, text: str) -> int | None:
        """Find the option that a text means, by its place on the scale; None if it means none."""
        plain = self.plain(text)
        option = self._texts.get(plain)
        if option is None and NUMBER.fullmatch(plain):
            # "4.0" is 4, as "1.50" is 1.5; but "+4" belongs to scales with signs.
            return None if plain[0] == "+" else self._numbers.get(float(plain))
        return option

    def pattern(self, cased: bool = True) -> re.Pattern[str]:
        """Make the expression that finds a spelling as a whole word.

        Args:
            cased: Whether single letters keep their case: "a" is also a word of English.

        Returns:
            The expression.
        """
        letters = self._letters if cased and not self._exact else {}
        words = sorted(self._texts.keys() - letters.keys(), key=len, reverse=True)
        either = "|".join(re.escape(text).replace(r"\ ", r"\s+") for text in words) or "(?!)"
        # "B-" is another grade.
        letter = rf"|(?:{'|'.join(letters.values())})(?!-)" if letters else ""
        flag = "" if self._exact else "i"
        counted = r"\s?%?" if any(map(COUNTED.search, self.scale.options)) else r"(?!\s?%)"
        return re.compile(
            rf"{BEFORE}(?:(?{flag}:{either}){letter})(?:(?<=\d)\.0+|(?<=\.\d)0+)?{AFTER}{counted}"
        )

    def _meaning(self, text: str, cased: bool = True) -> Meaning:
        """Find what a token says, after those before it; for single letters the case may matter."""
        whole = self.match(text)
        start = fold(text).lstrip() if self._exact else _begin(text)
        begun = self._beginnings.get(start, (frozenset(), frozenset()))
        letter = self._letters.get(self.plain(text)) if cased else None
        if letter is not None and letter not in text:
            whole = None
        return Meaning(whole, *(options - {whole} for options in begun))

    @cached_property
    def _beginnings(self) -> dict[str, tuple[frozenset[int], frozenset[int]]]:
        beginnings: dict[str, tuple[set[int], set[int]]] = {}
        for text, option in self._texts.items():
            for end in range(1, len(text)):
                inside = text[:end] in self._texts and text[end - 1 : end + 1].isalpha()
                mute = inside or text in self._worded
                beginnings.setdefault(text[:end], (set(), set()))[mute].add(option)
        return {
            text: (frozenset(begun), frozenset(mute)) for text, (begun, mute) in beginnings.items()
        }


def fold(text: str) -> str:
    """Write a text in plain signs, each in its place: full-width digits, tokenizers' spaces."""
    text = text.translate(MARKS)
    return text if text.isascii() else "".join(map(_fold, text))


@lru_cache(4096)
def _fold(sign: str) -> str:
    plain = unicodedata.normalize("NFKC", sign)
    return plain if len(plain) == 1 else sign


def _begin(text: str) -> str:
    """Drop what stands before the words of a text; a sign may begin a number."""
    plain = re.sub(r"\s+", " ", fold(text).lstrip().casefold())
    return re.sub(r"^(?:[^\w+-]|[+-](?!\d|$)|_)+", "", plain)


def loose(text: str) -> str:
    """Drop spaces, case and punctuation around the words of a text."""
    plain = " ".join(fold(text).casefold().split())
    # A sign belongs to a number.
    plain = re.sub(r"^(?:[^\w+-]|[+-](?!\d)|_)+", "", plain)
    # Not `[\W_]+$`, which tries every run of marks in a text from each of them.
    words = re.match(r".*[^\W_]", plain, re.DOTALL)
    return words[0] if words else ""
