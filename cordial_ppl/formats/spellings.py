"""How a model may write the options: which text means which option, and which text begins one."""

import re
import unicodedata
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import NamedTuple

from cordial_ppl.errors import InputError
from cordial_ppl.scale import Scale

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

MARKS = str.maketrans({"Ġ": " ", "▁": " ", "Ċ": "\n"})
"""Spaces and line ends as the vocabularies of tokenizers write them."""


REMEMBERED = 2**16
"""Texts of which it is remembered what they mean: logs repeat the same few thousand tokens."""


class Meaning(NamedTuple):
    """What a text says of the options.

    Attributes:
        plain: The text without what does not count.
        whole: The option that it means, by its place on the scale.
        begun: The options that it may yet become.
    """

    plain: str
    whole: int | None
    begun: frozenset[int]


class Spellings:
    """Every way to write each of K options.

    The option '4' may stand as "4", " 4", "**4**", "Four": spaces, case and punctuation around it
    count nothing, unless the options differ in nothing else ("+" and "++").

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
        self._exact = not all(_loose(text) for text, _ in given) or _clash(given[: scale.size])
        self._texts: dict[str, int] = {}
        for text, option in given:
            known = self._texts.setdefault(self.plain(text), option)
            if known != option:
                raise InputError(
                    f"{text!r} cannot stand for the option {scale.options[option]!r}: it stands "
                    f"for {scale.options[known]!r}."
                )
        self.meaning = lru_cache(REMEMBERED)(self._meaning)
        for text, option in given[: scale.size]:
            if text.isdigit() and int(text) < len(WORDS):
                self._texts.setdefault(WORDS[int(text)], option)

    @property
    def texts(self) -> list[str]:
        """Every spelling, plain."""
        return list(self._texts)

    def plain(self, text: str) -> str:
        """Take away what does not count: spaces, case and punctuation around the words."""
        return _strict(text) if self._exact else _loose(text)

    def match(self, text: str) -> int | None:
        """Find the option that a text means, by its place on the scale; None if it means none."""
        plain = self.plain(text)
        found = self._texts.get(plain)
        # Whole numbers are written with decimals, too: "4.0".
        return self._texts.get(re.sub(r"\.0+$", "", plain)) if found is None else found

    def begun(self, text: str) -> frozenset[int]:
        """Find the options of which a text may be the beginning, but not the whole."""
        return self._beginnings.get(self._beginning(text), frozenset())

    def _meaning(self, text: str) -> Meaning:
        return Meaning(self.plain(text), self.match(text), self.begun(text))

    def _beginning(self, text: str) -> str:
        # A sign alone is the beginning of a number, and no mark around a word.
        return self.plain(text) or _strict(text)

    @cached_property
    def _beginnings(self) -> dict[str, frozenset[int]]:
        found: dict[str, set[int]] = {}
        for text, option in self._texts.items():
            for end in range(1, len(text)):
                found.setdefault(self._beginning(text[:end]), set()).add(option)
        return {text: frozenset(options) for text, options in found.items()}

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Find a spelling as a whole word in a text."""
        longest = sorted(self._texts, key=len, reverse=True)
        words = "|".join(re.escape(text).replace(r"\ ", r"\s+") for text in longest)
        flags = 0 if self._exact else re.IGNORECASE
        edge = r"(?<![\w./])" if not self._exact else r"(?<!\w)"
        return re.compile(rf"{edge}(?:{words})(?:\.0+)?(?!\w|\.\d)", flags)


def _strict(text: str) -> str:
    return unicodedata.normalize("NFKC", text.translate(MARKS)).strip()


def _loose(text: str) -> str:
    plain = " ".join(_strict(text).casefold().split())
    # A sign belongs to a number; what else stands around the words does not.
    return re.sub(r"^(?:[^\w+-]|[+-](?!\d)|_)+|[\W_]+$", "", plain)


def _clash(given: list[tuple[str, int]]) -> bool:
    seen: dict[str, int] = {}
    return any(seen.setdefault(_loose(text), option) != option for text, option in given)
