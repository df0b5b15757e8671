"""Where in a text the answer stands: what is announced, never a digit in passing."""

import pytest
from reading import judgments, outcome

from cordial_ppl.data.scale import Scale
from cordial_ppl.logs.finder import Finder
from cordial_ppl.logs.spellings import Spellings

STARS = "1,2,3,4,5"
TEN = "1,2,3,4,5,6,7,8,9,10"


def find(options, text, **settings):
    """The option found, and where it stands or why there is none."""
    finder = Finder(Spellings(Scale(tuple(options.split(",")))), **settings)
    span = finder.find(text)
    return None if span.option is None else options.split(",")[span.option], span.source


FOUND = {
    "marked": [
        "Rating: [[4]]", "\\boxed{4}", "Feedback: 2 faults. [RESULT] 4", "<score>4</score>",
        '{"analysis": "rating: 2 would be harsh", "rating": "4"}', "{'overall_rating': '4/5'}",
        "Score: 3 is too low.\n[[3]] no, [[4]]",
        "【评分】4", "\\boxed{3} is wrong.\n[[4]]", "[RESULT]4",
        '{"criteria": [{"score": 2}, {"score": 3}], "overall_score": 4}',
        "Score: 3\n[RESULT]\n4", '{"score": 4, "reason": "Not a 5, because of one slip."}',
        '```json\n{"verdict": 4, "notes": "It \\"says\\" 3 things", "by": "a judge"}\n```',
    ],
    "named": [
        "Score: 4", "Rating: **4**/5", "**Rating:** 4 stars", "Final answer (1-5): 4",
        "It has 2 faults. Score: 4. That is more than before.", "Score: 2. Oh no.\nGrade: 4",
        "1. **Accuracy**: fine\n2. **Style**: bad\n\nScore: 4", "3. **Rating**: 4",
        "Relevance: 5\nFluency: 3\nOverall score: 4", "Initial score: 2. Rating: 4",
        "Score: 2. Wait, that is too low.\nScore: 4", "| Clarity | 2 |\n| Overall | 4 |",
        "Verdict → 4", "評分：４", "得分：4分", "Rating: 4 out of a possible 5", "Score - 4",
        "<think>Score: 3</think>Score: 4", "Rating: 4 (on a scale of 1 to 5)",
        "Rating: 4 because it has flaws", "Rating: 4 - Good", "Rating: 4 😊",
        "## Final rating\n\n**4**\n\nIt has flaws.", "The score is: 4",
        "[[1]](https://example.org) says so. Score: 4", "Rating: ⭐⭐⭐⭐ (4/5)",
        "Score: 4\n<details><summary>It is clear</summary></details>",
    ],
    "alone": [
        "4", "**4**", "Four.", "4<|im_end|>", "4/5", "Four out of five stars", "(4)\n",
        "4\n\nExplanation: it does not deserve more", "4 (good)",
        "<think>A score of 2? Rating: 3.</think>\n\n4", "Score: 2</seed:think>4",
        "<|channel|>analysis<|message|>Score: 2<|end|><|channel|>final<|message|>4",
        "[THINK]Rating: 3[/THINK]4",
        '<details type="reasoning" done="true">\n> Score: 2</details>4',
        "<Thinking Process>Score: 2</Thinking Process>4", "```thinking\nScore: 2\n```\n4",
        "<think>2<think>3</think>1</think>4", "<thought_process>Score: 2</thought_process>4",
    ],
}  # fmt: skip
LOST = {
    "off": [
        "Score: 4.5", "Rating: [[8.5]]", "1. Clear.\nRating: 8", "Score: 3/10", "Score: 3-4",
        "打分: [[0]]",
        "Score: 3 or 4", "Score: 3,5", "Score: 3, 4", "Score: 4\nFinal score: 0",
        "Answer: 3 apples", "Rating: [[5], [1], [2]]", "Score: 2\nScore: around 3.5",
        "Score: 2\nFinal score: N/A", '{"score": null}', "Score: 3 → 4",
        "Rating (0-10): [[4]]", "Rating: 4 [scale 1-10]", "Rating: 1. Clear. 2. Short.",
        "| Overall | 4 | 3 |", "Score: 4 for content, but 2 for form",
        "Score (out of 10): 4", "Score: 4 (out of 10)", "Score: > 3", "Score: ≥4", "Score: - 1",
        "Score: 4\nCorrection: 3", "Score: 4. Wait, I'd rather give it a 2.", "4\n\nOr rather 3.",
        "Score: 4 (clarity), 2 (style)", "4\n\nIt deserves just a 4.", "4\nIt is short.\n5",
        '{"score": 4, "max_score": 5}', '{"score": 4, "reason": "I cannot rate this."}',
        '{"score": 4, "corrected": "3", "reason": "It is short."}',
        "Rating: 4 because it has 2 flaws", "Score: 4\nBest: 5",
        "Score: 4\nIt has a flaw ... Hmm. It deserves only a 3.",
        "Score: 4. It really deserves a 3.", "Score: 4. Hmm, rather weak: 3.",
        "Rating: 4\n\nOn reflection I cannot rate this text.", "[[4]] I'm unable to judge it.",
        "Score: 4. No rating is possible.", "Rating: 4\nCorrection: N/A", "Rating:\n\n3 faults",
        "Score: 4. I won't score it, it isn't English.",
    ],
    "prose": [
        "", "No idea.", "1 to 5", "-4", "4+", "4 %", "#4", "8.5", "[[5], [1], [2]]",
        "It has 2 flaws.", "Clarity: 2\nStyle: 3",
        "Score (clarity): 2\nScore (style): 3", "Clarity score: 3", "Score 1: 4\nScore 2: 3",
        "1. The text is clear", "1. Clear\n2. Short\n3.", "I would give it a 4",
        "Evaluation:\n\n1. **Clarity**: good.\n2. **Style**: ok.\n\nI would give it a 4.",
        "Final scores\n\n4\n3", "Bewertung: 4 von 5",
    ],
    "thought": [
        f"{opened}Score: 3{more}"
        for opened in (
            "<think>", "<Thinking>", "<seed:think>", "[THINK]", "<|begin_of_thought|>",
            "<analysis>", "<thinking_process>", "<reasoning_content>", "<CoT>", "<rationale>",
            "⟨think⟩", "《思考》", "<ns:thought-steps>", "<scratchpad>",
            "{reasoning}", "<|channel|>analysis<|message|>", "◁think▷", "<reason>",
            "<think>Score: 2</think><think>", '<details type="reasoning">\n', "<Thinking Process>",
            "```thinking\n", "< think >", "<chain of thought>", "<think>```cot\n1```",
            "Score: 4 <thought>", '<think effort="high">',
        )
        for more in ("", ". Rather 4.\nScore: 4")
    ],
}  # fmt: skip


@pytest.mark.parametrize(("source", "text"), [(s, t) for s, ts in FOUND.items() for t in ts])
def test_a_rating_is_read_where_it_is_announced(source, text):
    assert find(STARS, text) == ("4", source)
    place = Finder(spellings := Spellings(Scale(tuple("12345")))).find(text)
    # The place is the option's, not that of the marks around it.
    own = text.replace("４", "4")[place.start : place.end]
    assert spellings.match(own) == 3 and own.strip("* .[]\n") == own


@pytest.mark.parametrize(("why", "text"), [(s, t) for s, ts in LOST.items() for t in ts])
def test_what_announces_no_option_is_left_unread(why, text):
    assert find(STARS, text) == (None, why)


WORDED = {
    "A,B,C,D": {
        "Answer: B. It has a flaw": "B", "answer: b": "B", "Answer: B, C": None, "B- because": None,
        "17 weeks in total\n- **Option C:** no\n- **Answer:** B": "B", "A, B and C are wrong": None,
    },
    "A,B,tie": {"Assistant A is better than B": None, "A is better. [[B]]": "B", "[[C]]": None},
    "no,yes": {"No issues found": None, "Verdict: yes, no doubt": None, "Yes.": "yes",
               "Verdict: YES": "yes"},
    "very bad,bad,good": {"It is not good. Verdict: very  bad": "very bad", "badly": None},
    "not helpful,helpful": {"Not helpful.": "not helpful", "It isn't helpful": None},
    "-1,0,1": {"Score: −1": "-1", "Score: +1": "1", "+1": "1"},
    "0,0.5,1": {"Score: 0.5/1": "0.5", "0.50": "0.5", "0.7": None},
    "0-2,3-5": {"Score: 3-5": "3-5"},
    "1/5,4/5,5/5": {"Score: 4/5": "4/5"},
    "0%,50%,100%": {"Score: 50%": "50%", "50": "50%"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("options", "text", "option"),
    [(options, *case) for options, cases in WORDED.items() for case in cases.items()],
)
def test_letters_words_and_other_numbers(options, text, option):
    assert find(options, text)[0] == option


@pytest.mark.parametrize(
    ("text", "option"),
    [('{"score": 1', None), ('{"score": 10', "10"), ('{"score": 4', "4"), ('{"score": 1}', "1")],
)
def test_a_number_that_may_have_been_cut_is_no_option(text, option):
    assert find(TEN, text)[0] == option


def test_a_long_reason_that_was_cut_is_read_at_once():
    """A search that tries every blank as the reason's last would take a minute."""
    assert find(STARS, '{"score": 4, "reason": "' + "good " * 20_000) == ("4", "marked")


def test_a_pattern_says_what_the_answer_follows():
    text = "Clarity: 2\nOverall: 4\nStyle: 3\nTone: 8.5"
    for pattern, expected in [("Style:", "3"), ("Clarity:", "2"), ("e:", None), ("Total:", None)]:
        assert find(STARS, text, before=pattern)[0] == expected
    assert find(TEN, "I rate this 7 of them", before="rate this") == ("7", "pattern")


def test_the_last_of_several_answers_is_taken_and_they_are_told():
    place = Finder(Spellings(Scale(tuple("12345")))).find("Score: 3\nScore: 4")
    assert place is not None and (place.option, place.several) == (3, True)


def test_invented_judgments_are_mostly_read_and_hardly_any_is_read_wrong_in_silence():
    every = judgments()
    assert len(every) >= 200 and len({judgment.family for judgment in every}) >= 10
    outcomes = [(outcome(judgment), judgment) for judgment in every]
    explicit = [how for how, judgment in outcomes if judgment.answer and judgment.explicit]
    # All that is read wrong announces a part of a rating.
    assert {how for how in explicit} == {"right", "left out"}
    assert explicit.count("right") >= 160
    assert sum(how.lower().startswith("wrong") for how, _ in outcomes) <= 12
