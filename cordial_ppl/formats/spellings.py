"""How a model may write the options: which text means which option, and which text begins one."""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import NamedTuple

from cordial_ppl.errors import InputError
from cordial_ppl.formats.signs import begin, loose, strict
from cordial_ppl.scale import Scale

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")

BEFORE = r"(?<![^\W_])(?<![^\W_]_)(?<![./#%+\\-])(?<!\d,)"
AFTER = r"(?!(?![分点點星점])\w*[^\W_]|[.,:]\d|\+|-(?!\s|(?i:stars?)\b))"
"""Edges of a spelling in a text: 4 is in none of "4.5", "-4", "4+" or "GPT-4"."""

COUNTED = re.compile(r"#\s?\d|\d\s?[%+]")
"""Numbers of something else: "#4", "4 %", "4+"."""

ROOM = 40
"""Characters that may stand around an option in an answer that is nothing else."""

REMEMBERED = 2**16
"""Texts of which it is remembered what they mean: logs repeat the same few thousand tokens."""


class Meaning(NamedTuple):
    """What a text says of the options.

    Attributes:
        whole: The option that it means, by its place on the scale.
        begun: The options that it may yet become; the whole one is none of them.
        mute: Those that it may become, too, but does not speak for: "F" may be the "F" of "Four",
            and "B", which is an option, the "B" of "Best".
    """

    whole: int | None
    begun: frozenset[int]
    mute: frozenset[int]


class Spellings:
    """Every way to write each of K options.

    The option '4' may stand as "4", " 4", "**4**", "4.0", "Four": spaces, case and punctuation
    around it count nothing, unless the options differ in nothing else ("+" and "++").  Where some
    are negative, "+1" is '1'.

    Args:
        scale: The options.
        extra: Further texts, each with the option that it means: {"A": "1"}.

    Raises:
        InputError: A further text names no option, or means another one already.
    """

    def __init__(self, scale: Scale, extra: Mapping[str, str] | None = None):
        self.scale = scale
        given = list(zip(scale.options, range(scale.size), strict=True))
        for text, option in (extra or {}).items():
            if option not in scale.options:
                raise InputError(
                    f"spellings must be of the options {', '.join(scale.options)}; "
                    f"found {text!r} for {option!r}."
                )
            given.append((text, scale.options.index(option)))
        self._counted = any(COUNTED.search(option) for option in scale.options)
        self._exact = not all(loose(text) for text, _ in given) or _clash(given[: scale.size])
        self._texts: dict[str, int] = {}
        for text, option in given:
            known = self._texts.setdefault(self.plain(text), option)
            if known != option:
                raise InputError(
                    f"{text!r} cannot stand for the option {scale.options[option]!r}: it stands "
                    f"for {scale.options[known]!r}."
                )
        self._letters = {
            self.plain(letter): letter
            for letter in (strict(text) for text, _ in given)
            if len(letter) == 1 and letter.isalpha()
        }
        self._numbers = self._add_numbers(given)
        self._longest = max(map(len, self._texts)) + ROOM
        self.meaning = lru_cache(REMEMBERED)(self._meaning)

    @cached_property
    def joined(self) -> bool:
        """Whether an option holds several words or numbers: "0-2", "4/5"."""
        return any(len(re.findall(r"\w+", option)) > 1 for option in self.scale.options)

    @cached_property
    def top(self) -> float | None:
        """The greatest number among the options."""
        return max(self._numbers, default=None)

    def plain(self, text: str) -> str:
        """Take away what does not count: spaces, case and punctuation around the words."""
        return strict(text) if self._exact else loose(text)

    def match(self, text: str) -> int | None:
        """Find the option that a text means, by its place on the scale; None if it means none."""
        plain = self.plain(text)
        found = self._texts.get(plain)
        if found is None and NUMBER.fullmatch(plain):
            # "4.0" is 4, as "1.50" is 1.5; but "+4" and "-4" are said of what has a sign.
            return None if plain[0] == "+" else self._numbers.get(float(plain))
        return found

    def whole(self, text: str) -> int | None:
        """Find the option that a whole answer is; none is "#4", "4 %" or a long text."""
        text = text.strip("\0 \n")
        if len(text) > self._longest or COUNTED.search(text) and not self._counted:
            return None
        return self.match(text)

    def _add_numbers(self, given: list[tuple[str, int]]) -> dict[float, int]:
        found: dict[float, int] = {}
        for text, option in given:
            if NUMBER.fullmatch(plain := self.plain(text)):
                found.setdefault(float(plain), option)
        self._worded: dict[str, int] = {}
        for number, option in found.items():
            if number.is_integer():
                self._texts.setdefault(f"{number:.0f}", option)
            if number > 0.0 > min(found):
                self._texts.setdefault(f"+{number:g}", option)
            if number in range(len(WORDS)) and WORDS[int(number)] not in self._texts:
                self._worded[WORDS[int(number)]] = option
        self._texts |= self._worded
        return found

    def _meaning(self, text: str, cased: bool = True) -> Meaning:
        """What a token says, after those before it; single letters by their case, too."""
        whole, begun = self.match(text), self._begun(text)
        letter = self._letters.get(self.plain(text)) if cased else None
        if letter is not None and letter not in text:
            whole = None
        return Meaning(whole, *(options - {whole} for options in begun))

    def _begun(self, text: str) -> tuple[frozenset[int], frozenset[int]]:
        start = strict(text, right=False) if self._exact else begin(text)
        return self._beginnings.get(start, (frozenset(), frozenset()))

    @cached_property
    def _beginnings(self) -> dict[str, tuple[frozenset[int], frozenset[int]]]:
        given: dict[str, set[int]] = {}
        mute: dict[str, set[int]] = {}
        for text, option in self._texts.items():
            for end in range(1, len(text)):
                inside = text[:end] in self._texts and text[end - 1 : end + 1].isalpha()
                found = mute if inside or text in self._worded else given
                found.setdefault(text[:end], set()).add(option)
        return {
            text: (frozenset(given.get(text, ())), frozenset(mute.get(text, ())))
            for text in given.keys() | mute.keys()
        }

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Find a spelling as a whole word in a text; single letters keep their case."""
        return re.compile(self.source())

    def source(self, cased: bool = True) -> str:
        """Write the regular expression of a spelling as a whole word.

        Args:
            cased: Whether single letters keep their case: "a" is a word of English, too.

        Returns:
            The expression, without groups of its own.
        """
        letters = self._letters if cased and not self._exact else {}
        words = _either(self._texts.keys() - letters.keys())
        # "B-" is a mark of its own.
        own = rf"|(?:{'|'.join(letters.values())})(?!-)" if letters else ""
        return rf"(?:{BEFORE}(?:(?{self._flag}:{words}){own})(?:(?<=\d)\.0+)?{self._after})"

    @cached_property
    def words(self) -> re.Pattern[str]:
        """Find an option that is a word, not a letter or a number: it may be said in passing."""
        texts = [text for text in self._texts if re.search(r"[^\W\d_]{2}", text)]
        said = _either(text for text in texts if text not in self._worded)
        return re.compile(rf"{BEFORE}(?{self._flag}:{said}){self._after}")

    @property
    def _after(self) -> str:
        return AFTER if self._counted else rf"{AFTER}(?!\s?%)"

    @property
    def _flag(self) -> str:
        return "" if self._exact else "i"


def _either(texts: Iterable[str]) -> str:
    longest = sorted(texts, key=len, reverse=True)
    return "|".join(re.escape(text).replace(r"\ ", r"\s+") for text in longest) or "(?!)"


def _clash(given: list[tuple[str, int]]) -> bool:
    seen: dict[str, int] = {}
    return any(seen.setdefault(loose(text), option) != option for text, option in given)
