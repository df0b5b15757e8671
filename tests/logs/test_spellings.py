"""How a model may write an option: what means it, and what may become it."""

import pytest

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError
from cordial_ppl.logs.spellings import Spellings

STARS = Spellings(Scale(("1", "2", "3", "4", "5")))
WORDS = Spellings(Scale(("very bad", "bad", "good", "very good")))
SIGNED = Spellings(Scale(("-1", "0", "1")))
MARKED = Spellings(Scale(("-", "+", "++")))
GRADES = Spellings(Scale(("A-", "A", "A+")))
STARRED = Spellings(Scale(("1", "2")), {"★": "1", "★★": "2"})
HALVES = Spellings(Scale(("0.0", "0.5", "1.0", "1.5")))
MIXED = Spellings(Scale(("Don't know", "so-so", "not_so", "1 - Poor")))
TENTHS = Spellings(Scale(tuple(f"{k / 10:g}" for k in range(11))))
TEN = Spellings(Scale(tuple(map(str, range(1, 11)))))


@pytest.mark.parametrize(
    ("spellings", "text", "option"),
    [
        *((STARS, text, "4") for text in ("4", " 4", "Ġ4", "▁4", "**4**", "4.", "(4)", "4\n")),
        *((STARS, text, "4") for text in ("Four", " FOUR", "４", "4.0", '"4"')),
        *((STARS, text, None) for text in ("", " ", ".", "4.5", "44", "4/5", "fourth", "six")),
        (STARS, "-4", None),
        *((WORDS, text, "very bad") for text in ("very bad", " Very  Bad.", "veryĠbad")),
        *((WORDS, text, None) for text in ("very", "badly", "not bad")),
        (SIGNED, "-1", "-1"), (SIGNED, " -1.", "-1"), (SIGNED, "1", "1"), (SIGNED, "- 1", "1"),
        (MARKED, "+", "+"), (MARKED, " ++ ", "++"), (MARKED, "-", "-"), (MARKED, "+++", None),
        (GRADES, " A+", "A+"), (GRADES, "A", "A"), (STARRED, "★★", "2"), (STARRED, "2", "2"),
        (SIGNED, "+1", "1"), (SIGNED, "−1", "-1"), (STARS, "+4", None),
        (HALVES, "1", "1.0"), (HALVES, "0.50", "0.5"), (HALVES, "0", "0.0"), (HALVES, "2", None),
        (MIXED, "don’t know", "Don't know"), (MIXED, "so so", None),
        (TENTHS, "0.6000000000000001", "0.6"), (TENTHS, "0.6000000238418579", "0.6"),
        (TENTHS, "1e0", "1"), (TENTHS, "0.61", None), (TENTHS, "0.600001", None),
        (TEN, "ten", "10"), (TEN, "10.0", "10"), (TEN, "0", None),
    ],
)  # fmt: skip
def test_what_means_an_option(spellings, text, option):
    found = spellings.match(text)
    assert (None if found is None else spellings.scale.options[found]) == option


def test_spellings_that_are_given():
    grades = Spellings(Scale(("1", "2")), {"A": "1", "acceptable": "1", "B": "2"})
    texts = ("a", "Acceptable", "B", "one", "C")
    assert list(map(grades.match, texts)) == [0, 0, 1, 0, None]
    with pytest.raises(InputError, match="'C' cannot stand for '3', because the options are 1, 2"):
        Spellings(grades.scale, {"C": "3"})
    with pytest.raises(InputError, match="'One' cannot stand for both 'one' and '2'"):
        Spellings(Scale(("one", "2")), {"One": "2"}).match("x")
