"""How a model may write the options: which text means which option, and which text begins one."""

import re
from collections.abc import Mapping
from functools import lru_cache
from math import isclose

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:e-?\d+)?")

MARKS = str.maketrans("Ġ▁Ċ‐‑−‘’“”０１２３４５６７８９．／：（）％", "  \n---''\"\"0123456789./:()%")
"""Spaces and line ends as the vocabularies of tokenizers write them; typographic and wide signs."""

BEFORE = r"(?<![^\W_])(?<![^\W_]_)(?<![./#%+\\-])(?<!\d,)"
AFTER = r"(?!(?![分点星])\w*[^\W_]|[.,:]\d|\+|-(?!\s|(?i:stars?)\b))"
"""Edges of a spelling in a text: 4 is not in "4.5", "-4", "4+" or "GPT-4"."""


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
        spelled = [(option, option) for option in scale.options] + [*(extra or {}).items()]
        alike = len({loose(option) for option in scale.options}) < scale.size
        self._exact = alike or not all(loose(text) for text, _ in spelled)
        self._texts: dict[str, int] = {}
        for text, option in spelled:
            if option not in scale.options:
                raise InputError(
                    f"{text!r} cannot stand for {option!r}, because the options are "
                    f"{', '.join(scale.options)}."
                )
            number = scale.options.index(option)
            previous = self._texts.setdefault(self.plain(text), number)
            if previous != number:
                raise InputError(
                    f"the spelling {text!r} cannot stand for both {scale.options[previous]!r} and "
                    f"{option!r}."
                )
        letters = [fold(text).strip() for text, _ in spelled]
        self._letters = {self.plain(one): one for one in letters if len(one) == 1 and one.isalpha()}
        self._names = dict(self._texts)
        self._numbers = {float(one): k for one, k in self._names.items() if NUMBER.fullmatch(one)}
        for number, option in self._numbers.items():
            self._texts.setdefault(f"{number:.15g}", option)
            if number > 0.0 > min(self._numbers):
                self._texts.setdefault(f"+{number:g}", option)
            if number in range(len(WORDS)):
                self._texts.setdefault(WORDS[int(number)], option)
        # Logs repeat the same few thousand tokens.
        self.match = lru_cache(2**16)(self._match)
        self.begun = lru_cache(2**16)(self._begun)

    def is_top(self, number: str) -> bool:
        """Say whether a number is the greatest option; any may be if options are words."""
        numeric = {*self._numbers.values()} == {*range(self.scale.size)}
        return not numeric or self.match(number) == self._numbers[max(self._numbers)]

    def plain(self, text: str) -> str:
        """Drop what does not count: spaces, case and punctuation around the words."""
        return fold(text).strip() if self._exact else loose(text)

    def _match(self, text: str, cased: bool = False) -> int | None:
        """Find the option that a text means, or none; letters may have to keep their case."""
        plain = self.plain(text)
        if cased and self._letters.get(plain, "") not in text:
            return None
        option = self._texts.get(plain)
        # "4.0" is 4, and 0.6000000000000001 is 0.6; but "+4" belongs to scales with signs.
        if option is None and NUMBER.fullmatch(plain) and plain[0] != "+":
            number = float(plain)
            near = (value for value in self._numbers if isclose(value, number, rel_tol=1e-6))
            option = self._numbers.get(next(near, number))
        return option

    def _begun(self, text: str) -> frozenset[int]:
        """List the options of which a text is a part, from the beginning: "1" of 10, "un"."""
        plain = fold(text).lstrip() if self._exact else _begin(text)
        # A whole word is no part of a longer one: "B" of "Best".
        if not plain or plain in self._texts and not plain[-1].isdigit():
            return frozenset()
        return frozenset(
            option
            for name, option in self._names.items()
            if name.startswith(plain) and name != plain
            if not plain[-1].isdigit() or name[len(plain)] in ".0123456789"
        )

    def pattern(self, cased: bool = True) -> re.Pattern[str]:
        """Make the expression that finds a spelling as a whole word; letters can keep a case."""
        letters = self._letters if cased and not self._exact else {}
        words = sorted(self._texts.keys() - letters.keys(), key=len, reverse=True)
        either = "|".join(re.escape(text).replace(r"\ ", r"\s+") for text in words) or "(?!)"
        # "B-" is another grade.
        letter = rf"|(?:{'|'.join(letters.values())})(?!-)" if letters else ""
        flag = "" if self._exact else "i"
        counted = r"\s?%?" if "%" in "".join(self.scale.options) else r"(?!\s?%)"
        return re.compile(
            rf"{BEFORE}(?:(?{flag}:{either}){letter})(?:(?<=\d)\.0+|(?<=\.\d)0+)?{AFTER}{counted}"
        )


def fold(text: str) -> str:
    """Write a text in plain signs, each in its place: full-width digits, tokenizers' spaces."""
    return text.translate(MARKS)


def _begin(text: str) -> str:
    """Drop what stands before the words of a text; a sign may begin a number."""
    plain = re.sub(r"\s+", " ", fold(text).lstrip().casefold())
    return re.sub(r"^(?:[^\w+-]|[+-](?!\d|$)|_)+", "", plain)


def loose(text: str) -> str:
    """Drop spaces, case and punctuation around the words of a text; a sign belongs to a number."""
    # Not `[\W_]+$`, which tries every run of marks in a text from each of them.
    words = re.match(r".*[^\W_]", _begin(text), re.DOTALL)
    return words[0] if words else ""
