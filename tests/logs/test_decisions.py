"""Logs of decision models, which answer with a probability for each ordered level.

Three public schemas: OpenAI's `/v1/decisions` (`Decision` of openai-python, which SGLang, vLLM and
LiteLLM serve too), TypeSafe's System One, `/v1/systemone` (also of Ollama, vLLM and LiteLLM), and
the results of promptfoo's `openai:decisions` provider, which hold the former as text.
"""

import json
from typing import Any

import numpy as np
import pytest
from logs_of_reviews import table

import cordial_ppl as cp
from cordial_ppl.errors import CordialWarning, InputError, SettingNeeded

LEVELS = ("calm", "soon", "today", "now")
RISING = ((0.8, 0.16, 0.03, 0.01), (0.14, 0.69, 0.14, 0.03), (0.03, 0.14, 0.69, 0.14),
          (0, 0.03, 0.16, 0.8))  # fmt: skip


def openai(probabilities, name: str | None = "urgency", labels=LEVELS):
    """OpenAI's Decision: answers in a list, a score with value, label and probability a level."""
    levels = [
        {"value": k, "label": label, "probability": p}
        for k, (label, p) in enumerate(zip(labels, probabilities, strict=True))
    ]
    return {"type": "score", "name": name, "score": 1.0, "confidence": 0.5, "probabilities": levels}


def system_one(probabilities, labels=LEVELS, order=None):
    """System One: answers by name, a score's probabilities by number, and a legend."""
    numbers = order or range(len(probabilities))
    answer = {"type": "score", "score": 1.0, "confidence": 0.5}
    answer["probabilities"] = {str(k): probabilities[k] for k in numbers}
    return answer | ({"legend": {str(k): labels[k] for k in numbers}} if labels else {})


def read(log, *answers, options: Any = None, **settings):
    rows = [{"id": f"t{i}", "model": "d-1", "answers": one} for i, one in enumerate(answers)]
    return cp.read(log(*rows), options=options, **settings)


SHAPES = {
    "openai": lambda p: [openai(p)],
    "openai, batch": lambda p: [openai(p)],
    "system one": lambda p: {"urgency": system_one(p)},
    "system one, any order": lambda p: {"urgency": system_one(p, order=(2, 3, 0, 1))},
    "promptfoo": lambda p: [openai(p)],
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("options", [None, "0,1,2,3", "calm,soon,today,now", "Calm,Soon,Today,Now"])
def test_probabilities_are_read_and_labels_of_levels_are_options(log, shape, options):
    bodies = [{"model": "d-1", "answers": SHAPES[shape](p)} for p in RISING * 3]
    rows = [{"id": f"t{i}"} | body for i, body in enumerate(bodies)]
    naming: dict[str, Any] = {}
    if "batch" in shape:
        rows = [
            {"custom_id": f"t{i}", "response": {"status_code": 200, "body": body}}
            for i, body in enumerate(bodies)
        ]
    if shape == "promptfoo":
        cells = [
            {"testIdx": f"t{i}", "response": {"output": json.dumps(body)}}
            for i, body in enumerate(bodies)
        ]
        rows = [{"results": {"results": cells}}]
        naming = {"rows": "results.results", "item": "testIdx"}
        naming["answer"] = "parse_json(response.output)"
    one = cp.read(log(*rows), options=options, **naming)
    assert one.table[0] == "p" and one.options == tuple((options or ",".join(LEVELS)).split(","))
    assert one.readings["item_id"] == [f"t{i}" for i in range(12)]
    assert set(one.readings["task"]) == {"urgency"}
    assert set(one.readings["reader_model"]) == {"d-1"}
    assert table(one).argmax(axis=1).tolist() == [0, 1, 2, 3] * 3
    # A zero is half of the second digit, not the smallest of the row.
    np.testing.assert_allclose(table(one)[3], np.array([0.005, 0.03, 0.16, 0.8]) / 0.995)


@pytest.mark.parametrize("labels", [None, [str(k) for k in range(11)]])
def test_ten_is_above_two_however_keys_are_sorted(log, labels):
    """System One, from a server that sorts the keys of objects as texts."""
    p = [k / 55 for k in range(11)]
    answer = system_one(p, labels, order=sorted(range(11), key=str))
    one = read(log, {"urgency": answer})
    assert one.options == tuple(map(str, range(11)))
    np.testing.assert_allclose(table(one)[0, 1:], p[1:], rtol=1e-3)


def test_a_scale_is_never_the_order_of_one_row(log):
    """Objects of numbers by option, as System One's choice has them and many tools write."""
    falling = [{"x": {"4": 0.7, "5": 0.2, "3": 0.1}}, {"x": {"3": 0.7, "4": 0.2, "5": 0.1}}]
    one = cp.read(log(*falling), answer="x")
    assert one.options == ("3", "4", "5")
    np.testing.assert_allclose(table(one), [[0.1, 0.7, 0.2], [0.7, 0.2, 0.1]])
    words = {"4": "fair", "5": "good", "3": "poor"}
    rows = [{words[name]: p for name, p in row["x"].items()} for row in falling]
    choices = [{"tone": {"type": "choice", "probabilities": row}} for row in rows]
    with pytest.raises(SettingNeeded, match="in different orders"):
        cp.read(log(*({"x": row} for row in rows)), answer="x")
    with pytest.raises(SettingNeeded, match="in different orders"):
        read(log, *choices)
    one = read(log, *choices, options="poor,fair,good")
    np.testing.assert_allclose(table(one), [[0.1, 0.7, 0.2], [0.7, 0.2, 0.1]])
    levels = [{"value": v, "label": w, "probability": 0.5} for v, w in ((1, "up"), (-1, "down"))]
    one = read(log, [{"type": "score", "name": "x", "probabilities": levels}])
    assert one.options == ("down", "up")


def test_levels_without_labels_are_numbers_of_the_options(log):
    """System One without a legend, as some gateways pass it on."""
    answers = [{"urgency": system_one(p, None)} for p in RISING]
    assert read(log, *answers).options == ("0", "1", "2", "3")
    for options in ("calm,soon,today,now", "1,2,3,4"):
        one = read(log, *answers, options=options)
        assert table(one).argmax(axis=1).tolist() == [0, 1, 2, 3]
    # A legend of objects has no labels.
    described = {"urgency": system_one(RISING[0], [{"means": label} for label in LEVELS])}
    assert read(log, described).options == ("0", "1", "2", "3")
    # One row without its legend is no other question.
    mixed = read(log, {"urgency": system_one(RISING[0])}, *answers)
    assert mixed.options == LEVELS and len(mixed) == 5
    with pytest.raises(InputError, match="names an option"):
        read(log, *answers, options="a,b,c")


@pytest.mark.parametrize(
    "answer",
    [
        {"type": "predicate", "name": "angry", "probability": 0.3}, {"type": "noul", "noul": 0.3},
        {"type": "boolean", "probability": 0.3},
    ],
)  # fmt: skip
def test_predicates_are_two_options(log, answer):
    """OpenAI's predicate, System One's noul, and the boolean of Vercel's AI SDK."""
    found = read(log, {"angry": answer}, [answer | {"name": "angry"}])
    assert found.options == ("no", "yes") and set(found.readings["task"]) == {"angry"}
    np.testing.assert_allclose(table(found), [[0.7, 0.3]] * 2)
    assert read(log, {"angry": answer}, options="false,true").options == ("false", "true")


def test_several_questions_are_several_tasks_and_refusals_are_counted(log):
    """OpenAI's Decision, whose refusal takes the place of one answer and says no more."""
    angry = {"type": "predicate", "name": "angry", "probability": 0.3}
    refusal = {"type": "refusal", "name": "urgency"}
    bodies = [[openai(RISING[0]), angry], [refusal, angry]] * 2
    with pytest.raises(SettingNeeded) as needed:
        read(log, *bodies)
    assert needed.value.setting == "task"
    with pytest.warns(CordialWarning, match="2 rows refused.*line 2, line 4"):
        found = read(log, *bodies, task="urgency")
    assert found.readings["unread"] == [None, "refused"] * 2 and len(found) == 2
    with pytest.warns(CordialWarning) as told:
        found = read(log, *bodies, options="0,1,2,3")
    assert len(found) == 2 and any("angry" in str(one.message) for one in told)
    assert len(found.notes["other"]) == 4
    assert len(read(log, *bodies, task="angry")) == 4


def test_questions_with_the_same_levels_share_a_table(log):
    """OpenAI's Decision, whose questions need no name: then their order tells them apart."""
    for names in (("urgency", "anger"), (None, None)):
        answers = [openai(p, name) for p, name in zip(RISING, names, strict=False)]
        one = read(log, answers)
        assert one.readings["task"] == [name or str(k) for k, name in enumerate(names, 1)]
        assert table(one).argmax(axis=1).tolist() == [0, 1]
    assert "task" not in read(log, [openai(RISING[0], None)]).readings


def test_each_judge_rounds_in_its_own_way(log):
    """System One: a local model writes all digits of a probability, a vendor two."""
    fine, coarse = (0.9012345, 0.09, 0.0087655, 0.0), (0.9, 0.1, 0.0, 0.0)
    rows = [
        {"id": "a", "model": model, "answers": {"urgency": system_one(p)}}
        for model, p in (("local", fine), ("vendor", coarse))
    ]
    first, second = table(cp.read(log(*rows)))
    assert first[3] == pytest.approx(5e-7, rel=0.2)
    # JSON drops the last digit of .90.
    np.testing.assert_allclose(second[2:], 0.005 / 1.01)
    # A certain answer is certain to two digits.
    np.testing.assert_allclose(table(read(log, [openai((1, 0, 0, 0))]))[0, 1:], 0.005 / 1.015)


@pytest.mark.parametrize(
    "answer",
    [
        {"type": "box", "box": [1, 2, 3, 4]}, {"type": "score", "probabilities": None, "score": 1},
        {"type": "score", "probabilities": [0.2]}, system_one((0, 0, 0, 0)),
        {"type": "score", "probabilities": {}}, {"type": "predicate", "probability": 1.2},
        {"type": "noul", "noul": [0.2]}, {"type": "noul", "noul": None}, openai((0.1, 0.1, 0.1, 0)),
        *(openai((p, 0.5, 0.5, 0)) for p in ("high", float("nan"), None, -0.1, float("inf"), [1])),
        openai((float("inf"), float("-inf"), 0, 1)),
        system_one((0.5, 0.5, None, 0)), system_one((60, 20, 0.1, 0.1)),
    ],
)  # fmt: skip
def test_what_has_no_probabilities_is_left_out_and_counted(log, answer):
    """System One with a question of another kind (Gemini's box), or no distribution, or damage."""
    usual = {"urgency": system_one(RISING[0])}
    with pytest.warns(CordialWarning, match="line 1"):
        one = read(log, {"urgency": answer}, usual)
    assert one.readings["item_id"] == ["t0", "t1"] and one.readings["unread"][0]
    with pytest.raises(InputError):
        read(log, {"urgency": answer})


def test_per_cent_are_probabilities(log):
    """System One, as a local model may write them; a zero is half of one per cent."""
    answers = [{"urgency": system_one(p)} for p in ((100, 0, 0, 0), (60, 20, 10, 10))]
    one = table(read(log, *answers))
    np.testing.assert_allclose(one[0, 1:], 0.005 / 1.015)
    np.testing.assert_allclose(one[1], (0.6, 0.2, 0.1, 0.1))


def test_a_legend_that_is_a_list_names_no_levels(log):
    """System One, damaged."""
    answers = [{"urgency": system_one(RISING[0]) | {"legend": [*LEVELS]}}]
    assert read(log, *answers).options == ("0", "1", "2", "3")


def test_two_answers_to_one_question_are_none(log):
    """OpenAI's Decision, where neither can be chosen."""
    with pytest.warns(CordialWarning, match="line 1: several answers to 'urgency'"):
        one = read(log, [openai(RISING[0]), openai(RISING[3])], [openai(RISING[1])])
    assert one.readings["unread"] == ["failed", None]
