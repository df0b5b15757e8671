"""What announces an answer in a text: "Score: 4", "I would give it a 4", a text that begins so."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from cordial_ppl.formats.bounds import FILL
from cordial_ppl.formats.retractions import is_listed, is_other, is_taken_back
from cordial_ppl.formats.signs import lower
from cordial_ppl.formats.spellings import Spellings

_SAID = "score rating grade answer verdict label judgement judgment level choice option decision"
_NOUNS = f"{_SAID} stars conclusion category class classification result evaluation assessment"
_FINAL = "final finally overall total"
_VERBS = "rat scor grad giv assign award deserv earn merit choos pick select say settl land vot"
_SO = "so thus hence therefore then"
_ABOUT = r"(?:[^\S\n]+(?:for|of|on|I)(?:[^\S\n]+[\w']+){1,4}?)?"
_MARK = rf"[\s\"'*_`()\[\]{{}}<>$|\\#{FILL}]"
_LINKS = r"\s+(?:is|was|of|as|(?:would|should|must|will|to)\s+be)(?:\s+(?:an?|the|clearly|thus))*:?"
_GAP = (
    r"(?:\s+(?!(?:could|would|might|may|can|if|unless|in|from|per|line|page|step)\b)[^\W\d][\w']*)"
)
_KIND = r"(?:\s+(?:solid|strong|clear|weak|low|high|full|firm|perfect|definite))?"
_CALLED = re.compile(rf"\b(?:{_FINAL.replace(' ', '|')})[\s_-]+(?:\w+[\s_-]+){{0,2}}\Z")
_TAG = r"\[(?:final\s+)?(?:result|score|rating|answer|verdict|grade)\]"
_BOXED = r"(?:\\boxed\{(?:\\text\{)?|\[\[)\s*"

_CLOSED = r"[*_`\"')\]}$\\]*"
_FOLLOWERS = (
    "because|since|as|for|due|on|in|but|with|without|while|though|although|given|so|that|this|it"
    "|its|there|they|he|she|we|you|i|by|overall|here|again|instead|rather|altogether|only|please"
    r"|and(?!\s+\d)|to\s+(?:this|it|that|the)|stars?|points?(?!\s+\w)"
)
_STOP = rf"{_CLOSED}[^\S\n]*(?:\Z|[\n.,;:!)\]}}|<(\-–—*#{FILL}]|(?i:{_FOLLOWERS})\b)"
_ENDED = rf"{FILL}*+(?={_STOP})"
"""An answer is not followed by what it could count or describe: "2 flaws", "good enough"."""


NEAR = 40
"""Characters in which an answer may be called final."""


def _words(words: str, ending: str = "") -> re.Pattern[str]:
    """Words at their beginning; what begins with a set of characters is searched for fast."""
    given = words.split()
    first = "".join(sorted({word[0] for word in given}))
    rest = "|".join(sorted({word[1:] for word in given}, key=len, reverse=True))
    return re.compile(rf"[{first}](?<![^\W_].)(?:{rest}){ending}(?![^\W_])")


NOUNS = _words(f"{_NOUNS} {_FINAL}", "s?")


class Found(NamedTuple):
    """An answer that a text may give.

    Attributes:
        text: The option as it was written.
        start: Its first character.
        end: The character after it.
        opens: Where its announcement starts.
        final: Whether it is called the final one.
    """

    text: str
    start: int
    end: int
    opens: int
    final: bool = False


class Announcements:
    """How texts announce one of the options.

    Args:
        spellings: How options are written.
    """

    def __init__(self, spellings: Spellings):
        x, either = (spellings.source(cased) for cased in (True, False))
        # "Yes and no" is neither.
        x, either = (f"(?P<x>{own})(?!\\s+(?i:and|or)\\s+{either})" for own in (x, either))
        # In "this one" there is no 1.
        said = rf"[\s\"'*_`(\[]+(?!(?i:one)\b(?!{FILL}|\s+(?i:stars?)\b)){x}{_ENDED}"
        # "Score 1: 4" is no 1.
        said += rf"(?!{_CLOSED}:)"
        self._marked = re.compile(
            rf"(?i:\s*\([^()\n]{{0,60}}\)|{_ABOUT})"
            rf"{_MARK}{{0,12}}(?::|=|\||[-–—]+>?(?=\s)|[→⇒\n>]|\[\[|\*\*)(?:{_MARK}|[:=]){{0,20}}"
            rf"(?i:an?\s+|(?:option|label|level)\s+|\\?(?:boxed|text)\{{)*"
            rf"{either}{FILL}*+(?={_CLOSED}[^\S\n]+[A-Z]|{_STOP})"
        )
        self._boxed = re.compile(rf"{_BOXED}{either}\s*[\]}}]")
        self._tagged = re.compile(rf"(?i:{_TAG}){_MARK}{{0,12}}{either}{_ENDED}")
        self._leading = re.compile(rf"\A[\W_]*?(?P<open>[(\[])?{x}(?(open)[)\]]|{_ENDED})")
        # In JSON a line may end with a comma.
        line = r"(?:[^\w\n?]|(?i:stars?|points?)\b|[分点點星점])*(?=\n|\Z)"
        called = r"(?:(?i:option|choice|label|level|grade)[\s#]+)?"
        self._first = re.compile(rf"\A[\W_]*?{called}{either}{line}")
        self._last = re.compile(rf"\n[^\w\n]*{either}{line}\s*\Z")
        self._named = re.compile(
            rf"(?m:^)[^\w\n]*[^\W\d][\w -]{{0,30}}[\"'*_`\s]*[:=]{_MARK}{{0,12}}{x}{line}"
        )
        self._phrases = [
            (_words(_SAID, "s?"), re.compile(rf"(?i:{_ABOUT}{_LINKS}){said}")),
            (_words(_VERBS, "(?:e|es|s|ed|en)?"), re.compile(rf"{_GAP}{{0,5}}?{said}")),
            (
                _words("go going went opt"),
                re.compile(rf"(?:\s+\w+)?\s+(?:with|for)(?:\s+an?)?{said}"),
            ),
            (
                _words("overall finally altogether"),
                re.compile(rf",?(?i:\s+(?:it\s+is|it's))?(?:\s+an?)?{said}"),
            ),
            (_words(_SO), re.compile(rf",?(?i:\s+(?:it\s+is|it's|that's))?(?:\s+an?)?{said}")),
            (_words("a an"), re.compile(rf"(?i:{_KIND}){said}")),
        ]
        self._whole = re.compile(rf"{x}(?={FILL}|[\s-](?i:stars?)\b){_ENDED}")
        self._word = re.compile(rf"(?P<x>{spellings.words.pattern})(?P<ended>{_ENDED})?")

    def ranks(self, text: str) -> Iterator[list[Found]]:
        """Find what is announced, the surest first.

        Args:
            text: A text without what is no answer.

        Yields:
            Answers in order: those called final, announced by a word and a mark; others announced
            so; a text that begins with one or ends with a line of its own; phrases.
        """
        small = lower(text)
        given = _after(text, small, NOUNS, self._marked)
        final = [own for own in given if own.final]
        marked = [*self._boxed.finditer(text), *self._tagged.finditer(text)]
        yield _sorted(text, [*final, *_found(marked)])
        yield _sorted(text, given)
        alone = (self._first.match(text), self._leading.match(text), self._last.search(text))
        yield _sorted(text, _found(own for own in alone if own))
        said = [
            own for openers, tail in self._phrases for own in _after(text, small, openers, tail)
        ]
        said = [*said, *_found(self._whole.finditer(text))]
        said = [own for own in said if not is_taken_back(text, own.opens, own.start)]
        yield _sorted(text, [own for own in said if own.final])
        yield _sorted(text, said)

    def mentions(self, text: str) -> Iterator[list[Found]]:
        """Find what is said without being announced; it counts where nothing else is said.

        Args:
            text: A text without what is no answer.

        Yields:
            Lines such as "Clarity: 4"; then options that are words, which may be taken back.
        """
        named = _found(self._named.finditer(text))
        yield _sorted(text, [own for own in named if not is_other(text, own.opens, own.start)])
        said = [
            own
            for own in self._word.finditer(text)
            if not is_taken_back(text, own.start(), own.start())
        ]
        # In "a good answer" alone the word describes something else.
        yield _found(said) if any(own["ended"] is not None for own in said) else []


@lru_cache(16)
def announcements(spellings: Spellings) -> Announcements:
    """Make the announcements of a scale's options, once."""
    return Announcements(spellings)


def _after(text: str, small: str, openers: re.Pattern[str], tail: re.Pattern[str]) -> list[Found]:
    """Options that follow certain words; none that are other scores than the one given."""
    found = []
    for opener in openers.finditer(small):
        if not (own := tail.match(text, opener.end())):
            continue
        opens = opener.start()
        called = _CALLED.search(small[max(0, opens - NEAR) : opens])
        final = opener[0] in _FINAL.split() or called is not None
        opens -= len(called[0]) if called else 0
        if not is_other(text, opens, own.start("x")):
            found.append(Found(own["x"], *own.span("x"), opens, final))
    return found


def _found(matches: Iterable[re.Match[str]]) -> list[Found]:
    return [Found(own["x"], *own.span("x"), own.start()) for own in matches]


def _sorted(text: str, found: list[Found]) -> list[Found]:
    """The answers by their places, without those that are one of a list."""
    places = {own.start: own for own in found if not is_listed(text, own.start, own.end)}
    return [places[start] for start in sorted(places)]
