"""Where in a text the answer stands: not a digit in the reasoning before it."""

import time

import pytest

from cordial_ppl.cli.reading import as_json, warn
from cordial_ppl.errors import InputError
from cordial_ppl.formats.answers import as_pattern, find_answer
from cordial_ppl.formats.collect import collect
from cordial_ppl.formats.evidence import Answers, Record
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
        # The place is the option's, not that of the marks around it.
        own = text[place.start : place.end]
        assert spellings.match(own) == place.option and own.strip("* .[]") == own


def test_a_pattern_says_what_the_answer_follows():
    text = "Clarity: 2\nOverall: 4\nStyle: 3"
    assert find_answer(text, STARS) == (3, text.index("4"), text.index("4") + 1, False)
    assert find_answer(text, STARS, as_pattern("Style:")) == (2, len(text) - 1, len(text), False)
    assert find_answer(text, STARS, as_pattern("Total:")) is None
    with pytest.raises(InputError, match="must be a regular expression: '\\('"):
        as_pattern("(")


SURE = [
    # A score and its explanation.
    "4\n\nExplanation: it does not deserve a score of 5",
    "Score: 4\nExplanation: A score of 5 would need citations.",
    "Rating: 4\n\nReasoning: for a rating of 5 the text should be clear",
    "Score: 4. Answer 2 is worse because it is short",
    "Score: 4. The answer is 5 sentences long",
    "Score: 4\n\nTo get a higher score: 1. add sources 2. be brief",
    "Score: 4 (previous score: 2)",
    "Rating: 4\nMax rating: 5",
    "Score: 4\nConfidence: 5",
    "The answer deserves 4 points; the label 2 is missing",
    '{"score": 4, "max_score": 5}',
    '{"score": 4, "reason": "worse than a level 5 answer"}',
    '{"analysis": "rating: 2 would be harsh", "rating": "4"}',
    "Score (higher is better): 4",
    "I think my score is: 4 because it has 2 flaws",
    # What a text begins with.
    "4 because it has 2 flaws",
    "4 (good; 1 error)",
    "4\n- 3 flaws\n- 2 typos",
    "4.\nThe answer has 2 flaws",
    "4: accurate, with 1 slip",
    "(4) It has 2 flaws",
    # Reasoning first.
    "1. Accuracy is fine\n2. Style is bad\n\nScore: 4",
    "A score of 3 means ok, a score of 5 means good. Score: 4",
    "Relevance: 5\nFluency: 3\nOverall score: 4",
    "Initial score: 2. Rating: 4",
    "It makes 2 points.\n\n4",
    "Step 1: ok. Step 2: ok. So 4",
    "I'd give it a 4, since there are 3 errors",
    "I'd rate it 4 out of 5, with 1 point off for length.",
    "I give this one a 4 overall",
    "The rating would be 5 if it were shorter, so I choose 4",
    "It isn't a 5; I'd go with a 4.",
    # How long the scale is.
    "4 / 5",
    "Four out of five stars",
    "4 of 5",
    "a solid 4 out of the 5 points",
    "4 out of a possible 5",
    "4 on a scale from 1 (worst) to 5 (best)",
    "4 on the scale between 1 and 5",
    "4 (on a scale where 5 is best)",
    "Overall rating (out of 5): 4",
    "4 (1-5)",
    "Score: 4 (max 5)",
    "On a scale of 1-5, 4",
    # Other signs.
    "評分：４",
    "得分：4分",
    "Verdict → 4",
    "[[4]]",
    "<think>Score: 3</think>\n\n4",
    "[THINK]Score: 3[/THINK]Score: 4",
]

UNSURE = [
    "<think>\nThe score could be 3 or 2 since",
    "<think>Score: 3",
    "<|channel|>analysis<|message|>Score: 3",
    "1. The text is clear",
    "1. Clear\n2. Short\n3.",
    "Clarity: 2\nStyle: 3",
    "It has 2 flaws.",
    "There are 5 facts. 3 are correct.",
    "The 4 main points are",
    "This is a good one",
    "I would not give it a 5",
    "The scale goes from 1 to 5",
    "Score: 3-4",
    "Score 1: 4\nScore 2: 3",
    "I'd say 4 and 5",
    "I rate it higher than 3",
    "I'd give it a 3 or 4",
    "Score: 3/10",
    "Score: 3,5",
    "-4",
    "4+",
    "4 %",
    "#4",
]


@pytest.mark.parametrize("text", SURE)
def test_a_rating_is_read_and_not_what_explains_it(text):
    place = find_answer(text, STARS)
    assert place is not None and STARS.scale.options[place.option] == "4"
    assert not place.several


@pytest.mark.parametrize("text", UNSURE)
def test_what_cannot_be_decided_is_left_unread(text):
    assert find_answer(text, STARS) is None


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("Score: 4\nA higher level: 5. That is all.", "4"),
        ("Sure.\nScore: 4\nReason: the style is no level: 5", "4"),
        ("At first a score of 2; on reflection the score is 4.", "4"),
        ("Accuracy score: 3\nStyle score: 4", "4"),
        ("4\nIt is short.\n5", "4"),
        ("Score: 3. Wait, that is too low. Score: 4", "4"),
        ("Score: 3\nActually, on reflection it deserves more.\nScore: 4", "4"),
        ("Score: 4\nReason: it actually waits for no one.\nStyle score: 2", "4"),
    ],
)
def test_several_answers_are_chosen_from_and_counted(text, option):
    place = find_answer(text, STARS)
    assert place is not None and STARS.scale.options[place.option] == option
    assert place.several == ("higher" not in text)


def test_several_answers_are_warned_of(capsys):
    texts = ["Style score: 3\nTone score: 4", "4", "Tone score: 3\nStyle score: 2"]
    records = [Record(str(i), Answers([text]), f"line {i}") for i, text in enumerate(texts)]
    collected = collect(records, scale=STARS.scale)
    assert collected.several == as_json(collected, "samples")["several"] == 2
    warn(collected)
    assert "2 answers announce several different options" in capsys.readouterr().err


WORDED = {
    "A,B,C,D": {
        "B because it is a clear answer": "B",
        "I think this is a hard one": None,
        "Answer: B. It has a flaw": "B",
        "(B) It is a flaw": "B",
        "D as in a dog": "D",
        "A, B and C are wrong": None,
        "B- because": None,
        "answer: b": "B",
    },
    "A,B,tie": {"Assistant A is better than B": None, "A is better. [[B]]": "B"},
    "no,yes": {
        "No, it is not helpful": "no",
        "Yes it is, no doubt": "yes",
        "Yes and no": None,
        "No issues found": None,
        "There is no reason to say yes": None,
    },
    "disagree,agree": {
        "I disagree": "disagree",
        "I agree with it": "agree",
        "neither agree nor disagree": None,
        "I do not agree": None,
        "Somewhat agree": None,
    },
    "not helpful,helpful": {
        "unhelpful": None,
        "Not helpful.": "not helpful",
        "The answer is not very helpful.": None,
        "It isn't helpful": None,
    },
    "bad,good": {"Good, but not perfect": "good", "A good text": None, "bad / good": None},
    "-1,0,1": {"+1": "1", "Score: −1": "-1", "From -1 to +1: +1": "1"},
    "0,0.5,1": {"Score: 0.5/1": "0.5", "0.50": "0.5", "0.7": None},
    "1/5,4/5,5/5": {"Score: 4/5": "4/5"},
    "0%,50%,100%": {"Score: 50%": "50%", "50": "50%"},
}


@pytest.mark.parametrize(
    ("options", "text", "option"),
    [(options, *case) for options, cases in WORDED.items() for case in cases.items()],
)
def test_letters_words_and_other_numbers(options, text, option):
    spellings = Spellings(Scale(tuple(options.split(","))))
    place = find_answer(text, spellings)
    assert (None if place is None else spellings.scale.options[place.option]) == option


@pytest.mark.parametrize(
    "piece", ["score ", "1 ", "\n", "rate it ", "1, ", "scale ", "(", "final "]
)
def test_long_texts_take_no_long(piece):
    started = time.process_time()
    find_answer(piece * 20_000, STARS)
    find_answer(f"<think>{' ' * 100_000}</think>{piece * 5_000}{' ' * 50_000}\n4", STARS)
    assert time.process_time() - started < 5.0
