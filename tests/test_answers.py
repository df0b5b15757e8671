"""Where in a text the answer stands: not a digit in the reasoning before it."""

import pytest

from cordial_ppl.errors import InputError
from cordial_ppl.formats.answers import as_pattern, find_answer
from cordial_ppl.formats.spellings import Spellings
from cordial_ppl.scale import Scale

STARS = Spellings(Scale(("1", "2", "3", "4", "5")))
WORDS = Spellings(Scale(("very bad", "bad", "good")))
SIGNED = Spellings(Scale(("-1", "0", "1")))
RANGES = Spellings(Scale(("0-2", "3-5")))

ANSWERS = [
    (STARS, "4", "4"),
    (STARS, "**4**", "4"),
    (STARS, "Four.", "4"),
    (STARS, "4\n\nThe text names 2 faults.", "4"),
    (STARS, "4 - clear, though 2 words are odd", "4"),
    (STARS, "Score: 4", "4"),
    (STARS, "Rating: **4**/5", "4"),
    (STARS, "Rating: [[4]]", "4"),
    (STARS, '{"score": 4, "faults": 2}', "4"),
    (STARS, "<score>4</score>", "4"),
    (STARS, "On a scale of 1 to 5, I would give it a 4 out of 5.", "4"),
    (STARS, "Final answer (1-5): 4", "4"),
    (STARS, "The answer is \\boxed{4}", "4"),
    (STARS, "It has 3 virtues and 2 faults. Score: 4. That is 1 more than before.", "4"),
    (STARS, "At first a score of 2; on reflection the score is 4.", "4"),
    (STARS, "<think>A score of 2? Rating: 3.</think>\n\n4", "4"),
    (STARS, "4<|im_end|>", "4"),
    (STARS, "Between 3 and 4, so 4", "4"),
    (STARS, "Score - 4", "4"),
    (STARS, "underscore 2 and then 4", "4"),
    (STARS, "I weigh 2 things and say four", "4"),
    (STARS, "Score: 4.5", None),
    (STARS, "No idea.", None),
    (STARS, "1 to 5", None),
    (STARS, "", None),
    (WORDS, "It is not good. Verdict: very  bad", "very bad"),
    (WORDS, "BAD", "bad"),
    (WORDS, "badly", None),
    (SIGNED, "Score: -1", "-1"),
    (SIGNED, "the score -1", "-1"),
    (SIGNED, "Score: 1", "1"),
    (RANGES, "Score: 3-5", "3-5"),
]


@pytest.mark.parametrize(("spellings", "text", "option"), ANSWERS)
def test_the_answer_is_found(spellings, text, option):
    place = find_answer(text, spellings)
    assert (None if place is None else spellings.scale.options[place.option]) == option
    if place is not None:
        # The place is where the option starts, not the marks around it.
        assert spellings.begun(text[place.start]) or spellings.match(text[place.start]) is not None


def test_a_pattern_says_what_the_answer_follows():
    text = "Clarity: 2\nOverall: 4\nStyle: 3"
    assert find_answer(text, STARS).start == text.index("3")  # pyright: ignore
    place = find_answer(text, STARS, as_pattern("Overall:"))
    assert place == (3, text.index("4"))
    assert find_answer(text, STARS, as_pattern("Total:")) is None
    with pytest.raises(InputError, match="must be a regular expression: '\\('"):
        as_pattern("(")
