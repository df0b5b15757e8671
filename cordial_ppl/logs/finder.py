r"""Answers of generated texts: the last that is announced, never a number in passing.

Thoughts hold no answer, closed or not. An answer is explicit if it

1. follows a pattern that the user gives, and then nothing else is looked at;
2. stands in brackets or under a key: `[[4]]`, `\\boxed{4}`, `[RESULT] 4`, `"score": 4`;
3. follows a word and a mark, at a line's beginning or after a sentence: "Final rating: 4";
4. is all of the text, or of its first line.

The last of these counts. There is no answer if it announces something that is not an option
("Rating: 8.5", "Score: 3-4"), or if an option or a refusal to rate stands anywhere after it.  Of a
reason in another field of JSON, only a refusal counts.  Nor is there one where JSON ends within a
number with which another option begins, too.
"""

import re
from typing import NamedTuple

from cordial_ppl.errors import InputError
from cordial_ppl.logs.spellings import WORDS, Spellings, fold

SPACE = r"[^\S\n]*"
FINAL = r"(?:final|overall|total)"
NOUN = (
    r"(?:score|rating|grade|answer|verdict|judge?ment|label|choice|decision|stars|winner"
    r"|preference|答案|打分|(?:综合|总体|總體|最终|最終)?(?:评分|評分|得分|分数|评级))"
)
"""What ratings are called, in English and Chinese; `--after` takes words of other languages."""

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
NAMED = re.compile(
    rf"(?:^|[.!?;\]][\"'*_)]*[^\S\n])[^\w\n]{{0,12}}(?:\d{{1,2}}[.)]{SPACE}[*_]*)?{_LEAD}{{0,4}}"
    rf"(?:{NOUN}(?:{SPACE}\bis)?{_SHUT}(?:\([^()\n]{{0,40}}\d[^()\n]{{0,20}}\))?"
    rf"|(?:final|overall)(?:[ _-]\w*[^\Ws])?{_SHUT}(?:\([^()\n]{{0,60}}\))?){_SHUT}"
    rf"(?:[:=|→⇒{_EMOJI}]|[-–—]+>?(?=[^\S\n])|(?=\n))",
    re.IGNORECASE | re.MULTILINE,
)
"""Words before an answer, but for parts of a rating: "Clarity score:", "Score (style):"."""

OPENERS = {"marked": MARKED, "named": NAMED}
"""What announces an answer."""

OPENED = rf"(?P<opened>(?:\s|[\"'*_`(\[{{$|\\:={_EMOJI}])*+)"
_UNIT = r"(?:-?stars?\b|points?\b|[分点星])?"
_OF = r"(?:/|(?:on\s+a\s+)?scale(?:\s+of|\s+from)?|(?:out\s+)?of\b|max\b)"
UNIT = (
    rf"(?i:(?>{_SHUT}{_UNIT}{_SHUT}(?:[,(\[]?{_OF}{SPACE}(?:(?:an?|the|possible)\s+){{0,2}}"
    rf"(?:{_N}\s?(?:-|–|to){SPACE})?(?P<top>{_N}))?{_SHUT}{_UNIT}{_SHUT}))"
)
"""Words that belong to an answer: "4 out of 5 stars", "4 (out of 5)"."""

STOP = re.compile(
    rf"\Z|\n|[.!?。](?!\d)|[-,、;:(|<\[–—#→⇒{_EMOJI}]|(?:because|since|as|due)\b", re.IGNORECASE
)
"""Ends of an answer, which counts or describes nothing: not "2 flaws", "good enough"."""

ENDED = re.compile(r"(?:\([^()\d\n]*\))?[^\w\n]*(?:\n|\Z)")
"""The end of a line that holds nothing but the answer."""

TOP = re.compile(r"\(\D*(?:\d+\D+)?(?P<top>\d+)\D*\)")
"""Scales beside the word of an announcement: "Score (1-10):"."""

REFUSED = re.compile(
    r"(?:\b(?:cannot|unable|impossible|refuse|decline|not|no)\b|n't\b)[^.!?\n]{0,60}"
    r"\b(?:rat(?:e|ed|ing)|scor(?:e|ed|ing)|grad(?:e|ed|ing)|judge|assess|evaluate)\b|\bn/a\b",
    re.IGNORECASE,
)
"""What takes an answer back: "I cannot rate this"."""

PROSE = re.compile(r"""(?<=["'])\s*+:\s*+(["'])(?=(?:(?!\1)\S)*+\s)(?:(?!\1)[^\\]|\\.)*+\1""")
"""Words of another field of JSON, which may name options: "reason": "Not a 5, for it is long"."""

CUT = re.compile(r'"\s*+:\s*+"?\d+\Z')
"""The end of JSON that may have been cut within a number: {"score": 1"""

SPECIAL = re.compile(r"<\|[^|<>]*\|>|</?s>|<(?:eos|end_of_turn)>|\[END\]", re.IGNORECASE)
"""Tokens that a tokenizer adds around an answer."""

_THINK = (
    r"(?:think(?:ing)?|thoughts?|reason(?:ing)?|analysis|scratch_?pad|reflection|deliberation"
    r"|monologue|cot|rationale|思考(?:过程)?|推理)(?:[ _-](?:process|content|steps?|trace|text))?"
)
THOUGHT = re.compile(
    # "[Analysis]: ..." is a heading.
    rf"(?P<final><\|channel\|>final(?:<\|message\|>|\b))|<\|channel\|>(?:{_THINK}|commentary)\b"
    rf"|(?:<\|?|\[|\{{|[◁【〈《⟨«]) ?(?P<shut>/|end(?:_of)?_)?(?:begin(?:_of)?_|start(?:_of)?_)?"
    rf"(?:\w+[:_-]|(?<=[</])(?:\w+ ){{1,2}})?{_THINK}(?:\s\w+=[^<>\n]{{0,60}})? ?"
    r"(?:\|?>|\](?!:)|\}|[▷】〉》⟩»])"
    # What ends these may end something else.
    rf"|(?P<block>(?:(?P<fence>```){_THINK}\b|<details\b[^<>]{{0,99}}\btype=\W{{0,2}}{_THINK}\b[^<>]*>)"
    r"(?s:.*?)(?:(?(fence)```(?!\w)|</details>)|(?P<open>\Z)))",
    re.IGNORECASE,
)
"""Marks of thoughts: `<think>`, `</seed:think>`, `<|end_of_thought|>`, channels, fences."""


class Span(NamedTuple):
    """An answer in a text, or why there is none.

    Attributes:
        option: Its position on the scale; None if the text names none.
        start: Its first character in the text.
        end: The character after it.
        source: Where it stands: "pattern", "marked", "named" or "alone"; or why there is none:
            "prose" announces none, "off" something else, and "thought" never ends.
        several: Whether the text announces other options too.
        after: The character after the words that belong to the answer.
    """

    option: int | None
    start: int
    end: int
    source: str
    several: bool = False
    after: int = 0


class Finder:
    """Finds the answers of texts.

    Args:
        spellings: How options are written.
        before: The regular expression that answers follow; then nothing else is looked at.

    Raises:
        InputError: It is none.
    """

    def __init__(self, spellings: Spellings, before: str | None = None):
        self.spellings = spellings
        try:
            self.before = re.compile(before) if before else None
        except re.error as error:
            raise InputError(f"{before!r} is not a valid regular expression: {error}.") from error
        self._openers = {"pattern": self.before} if self.before else OPENERS
        self._cased, option = spellings.pattern(), spellings.pattern(cased=False).pattern
        self._value = re.compile(rf"{OPENED}(?P<option>{option}){UNIT}")

    def find(self, text: str) -> Span:
        """Find the option that a text answers with, and where it is.

        Args:
            text: The generated text.

        Returns:
            The last announcement, unless something after it speaks against it.
        """
        text = fold(text)
        if (start := _after_thoughts(text)) is None:
            return Span(None, 0, 0, "thought")
        # As long as before, so that places stay.
        text = "\n" * start + SPECIAL.sub(lambda match: " " * len(match[0]), text[start:])
        spans = [
            self._read(text, match.end(), source, match[0])
            or Span(None, match.end(), match.end(), source)
            for source, opener in self._openers.items()
            for match in opener.finditer(text)
        ]
        # Of two at one place, that of no option is the later.
        last = max(spans, key=lambda span: (span.start, span.option is None), default=None)
        last = last or (None if self.before else self._read(text, 0, "alone"))
        if last is None:
            return Span(None, 0, 0, "prose")
        bare = PROSE.sub(lambda match: " " * len(match[0]), text)
        doubts = () if self.before else ((self._cased, bare), (REFUSED, text))
        longer = (text[last.start :] + digit for digit in "0123456789" * bool(CUT.search(text)))
        cut = any(self.spellings.match(one) is not None for one in longer)
        if cut or last.option is None or any(one.search(each, last.after) for one, each in doubts):
            return last._replace(option=None, source="off")
        return last._replace(several=len({span.option for span in spans} - {None}) > 1)

    def _read(self, text: str, start: int, source: str, words: str = "") -> Span | None:
        """Read an option after the words that announce it, or that is a line of its own."""
        if (match := self._value.match(text, start)) is None:
            return None
        # A heading announces the line below, if that is nothing but the answer.
        alone = source == "alone" or source != "pattern" and "\n" in match["opened"]
        ends = source == "pattern" or (ENDED if alone else STOP).match(text, match.end())
        if not ends or match["top"] and not self.spellings.is_top(match["top"]):
            return None
        scale = source == "named" and TOP.search(words)
        off = scale and not self.spellings.is_top(scale["top"])
        option = None if off else self.spellings.match(match["option"])
        return Span(option, *match.span("option"), source, after=match.end())


def _after_thoughts(text: str) -> int | None:
    """Return where the answer may begin, after all thoughts; None if one is never closed."""
    start = depth = 0
    for tag in THOUGHT.finditer(text):
        if tag["block"] and tag["open"] is None:
            start = tag.end()
        elif tag["final"] or tag["shut"]:
            # Some prompts open the thought themselves: then only its end is in the text.
            start, depth = tag.end(), 0 if tag["final"] else max(depth - 1, 0)
        else:
            depth += 1
    return None if depth else start
