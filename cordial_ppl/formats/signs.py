"""How the same text is written in different signs, and what of them counts."""

import re
import unicodedata
from functools import lru_cache

MARKS = str.maketrans("Ġ▁Ċ‐‑−‘’“”", "  \n---''\"\"")
"""Spaces and line ends as the vocabularies of tokenizers write them; typographers' signs."""


def fold(text: str) -> str:
    """Write a text in plain signs, each in its place: full-width digits, tokenizers' spaces."""
    text = text.translate(MARKS)
    return text if text.isascii() else "".join(map(_fold, text))


def lower(text: str) -> str:
    """Write a text in small letters, unless that moves its places."""
    small = text.lower()
    return small if len(small) == len(text) else text


@lru_cache(4096)
def _fold(sign: str) -> str:
    plain = unicodedata.normalize("NFKC", sign)
    return plain if len(plain) == 1 else sign


def strict(text: str, right: bool = True) -> str:
    """A text without the spaces around it; those on its right may count."""
    text = unicodedata.normalize("NFKC", text.translate(MARKS))
    return text.strip() if right else text.lstrip()


def begin(text: str) -> str:
    """A text without what stands before its words; a sign may begin a number."""
    plain = re.sub(r"\s+", " ", strict(text, right=False).casefold())
    return re.sub(r"^(?:[^\w+-]|[+-](?!\d|$)|_)+", "", plain)


def loose(text: str) -> str:
    """A text without what does not count: spaces, case and punctuation around the words."""
    plain = " ".join(strict(text).casefold().split())
    # A sign belongs to a number; what else stands around the words does not.
    return re.sub(r"^(?:[^\w+-]|[+-](?!\d)|_)+|[\W_]+$", "", plain)
