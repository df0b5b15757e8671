"""What speaks against an announced answer: what takes it back, and that it is of a part alone."""

import re

SPACE = r"[^\S\n]*"
FINAL = r"(?:final|overall|total)"
NOUN = (
    r"(?:score|rating|grade|answer|verdict|judge?ment|label|choice|decision|stars|winner"
    r"|preference|答案|打分|(?:综合|总体|總體|最终|最終|総合|종합|최종)?"
    r"(?:评分|評分|得分|分数|评级|評価|評点|점수|평점|평가)"
    r"|note(?=[ ]:)|bewertung|punktzahl|puntuación|calificación|pontuação|nota|punteggio"
    r"|valutazione|оценка)"
)

RETRACTED = re.compile(
    r"(?:(?:^|[.!?,;:(–—-])[^\w\n]*(?:(?:but|no|oh|hmm?|however|well)\b\W+)*"
    r"(?:wait|actually|correct(?:ion|ed)|revis(?:ion|ed)|edit(?:ed)?|updated?|adjusted|sorry"
    r"|scratch|hm+|make (?:that|it)|new (?:score|rating|grade))"
    rf"|\b{FINAL} {NOUN}|\bon (?:second thoughts?|reflection)"
    r"|\b(?:take|took) (?:that|it|this) back|\breconsider\w*"
    r"|(?:'d|\bwould|\bor|\bshould) rather|\bI meant?|\bmy mind"
    r"|\b(?:lower|rais|reduc|increas|chang|revis|correct|adjust|downgrad|upgrad)(?:e|ing)?"
    r" (?:it|this|that|my|the (?:score|rating|grade)))\b",
    re.IGNORECASE | re.MULTILINE,
)
"""What takes an answer back, if another option follows."""

DESERVED = re.compile(
    r"(?<!\bnot\s)(?<!n't\s)\b(?:deserves?|merits?|warrants?|earns?)\s"
    r"(?:(?:really|rather|at (?:best|most)|no more than)\s)?(?:(?:only|just|an?)\s){1,2}",
    re.IGNORECASE,
)
"""What takes an answer back, if another option stands right behind it."""

REFUSED = re.compile(
    r"\b(?:(?:I|we)(?: do|'m| am|'re| are| must| have to| will|) ?(?:cannot|can't|can not|not|n't"
    r"|unable to|won't|decline|refuse)|it is (?:impossible|not possible) to"
    r"|there is (?:not enough|insufficient) \w+ to) ?(?:(?:to|able|be|fairly|reliably|properly) )*"
    r"(?:rate|assess|score|evaluate|grade|judge)\b(?![^.\n]*(?:higher|lower|better|worse|\d))"
    r"|\b(?:I|we) (?:do not|don't|lack)(?: have)? (?:enough|sufficient) (?:information|context)"
    r"|\b(?:I|we)(?: must| have to)? (?:respectfully )?decline\b",
    re.IGNORECASE,
)
"""What says that there is no rating, whatever was announced before it."""

_TITLE = r"[^\W\d_][^\n\d.!?:|=;,\"{}<>()]{0,40}(?:\d{1,2}|\([^()\n]*\))?"
HEADING = re.compile(
    rf"^(?P<mark>\#+|\*\*|__){SPACE}(?P<name>(?:[^\W\d_]*\s?\d+[.):]{SPACE})?{_TITLE})[\s:*_#]*$",
    re.MULTILINE,
)
ABOVE = re.compile(rf"(?:^|\n)[^\w\n]*(?P<name>{_TITLE})[:*_]*{SPACE}\n+\Z")
BESIDE = re.compile(rf"^[^\w\n]*(?P<name>\d{{1,2}}[.)]|{_TITLE}(?=[\s*_]*[:–—-]))", re.MULTILINE)
WHOLE = re.compile(
    rf"[\W\d_]*+(?:[\W_]|\([^()]*\)|\b(?:{FINAL}|{NOUN}|so|thus|therefore|hence|the|my|your|our|is|evaluation"
    r"|assessment|summary|conclusion|result|feedback|explanation|reason(?:ing)?|rationale"
    r"|justification|analysis|output|response|review|comments?|strengths?|weakness(?:es)?|average"
    r"|revised|initial|and|of|for)s?\b)*+",
    re.IGNORECASE,
)
"""Headings, titles and labels; and those that are of the whole text, not of a part of it."""

PART = re.compile(r"[\"']\w+[\"']\s*:\s*\[[^\[\]]*\Z")
"""An element of a list under a key, before which a field stands."""


def part_of(text: str, found: re.Match[str]) -> str | None:
    """The heading, title or label of what is rated, if it is a part of the whole."""
    start = found.start() + (found[0][:1] in ".!?;]")
    line = text.rfind("\n", 0, start) + 1
    if beside := BESIDE.match(text, line):
        if beside["name"][0].isdigit() or not _is_whole(beside["name"]):
            return beside["name"]
        if re.search(rf"\b{FINAL}\b", beside["name"], re.IGNORECASE):
            return None
    elif re.search(r"\w", text[line:start]):
        return None
    above = ABOVE.search(text, max(0, line - 99), line) or next(
        reversed([*HEADING.finditer(text, 0, line)]), None
    )
    return above["name"] if above and not _is_whole(above["name"]) else None


def is_headed(text: str, start: int, end: int) -> bool:
    """Whether the heading above an answer is followed by another part's, of the same rank."""
    above = [*HEADING.finditer(text, 0, start)][-1:]
    return any(
        found["mark"] == one["mark"] and not _is_whole(found["name"])
        for one in above
        for found in HEADING.finditer(text, end)
    )


def _is_whole(name: str) -> bool:
    return WHOLE.fullmatch(name) is not None
