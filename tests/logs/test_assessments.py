"""Whose a score is and whether it is one: graders that failed, tools' calls, people's exports."""

import json
from typing import Any

import pytest
from logs_of_reviews import table

import cordial_ppl as cp
from cordial_ppl.errors import CordialWarning, InputError
from cordial_ppl.logs import find_format

STARS = ("1", "2", "3", "4", "5")
HALVES = ("0", "0.5", "1")


def assertion(score, **fields):
    return {"score": score, "assertion": {"type": "llm-rubric"}, **fields}


def test_run(*metrics):
    return {"testCases": [{"name": f"c{i}", "metricsData": [m]} for i, m in enumerate(metrics)]}


GRADED: dict[str, Any] = {
    "promptfoo": (
        {"testIdx": 0, "gradingResult": {"componentResults": [assertion(1)]}},
        {"testIdx": 1, "error": "Could not extract JSON", "gradingResult": {
            "componentResults": [assertion(0, metadata={"graderError": True})]}},
        {"testIdx": 2, "error": "It is dull.", "gradingResult": {
            "componentResults": [assertion(0, metadata={"graderError": False})]}},
    ),
    "deepeval": (
        test_run(
            {"name": "Tone", "score": 1, "error": None},
            {"name": "Tone", "score": 0, "error": "timed out"},
            {"name": "Tone", "score": 0},
        ),
    ),
    "langsmith": tuple(
        {"run_id": f"r{i}", "key": "tone", "score": score, "feedback_source": {"type": "model"},
         "extra": {"error": error}}
        for i, (score, error) in enumerate([(1, None), (0, True), (0, False)])
    ),
    "samples": (
        {"item_id": 0, "score": 1, "error": ""}, {"item_id": 1, "score": 0, "error": "no JSON"},
        {"item_id": 2, "score": 0},
    ),
}  # fmt: skip
test_run.__test__ = False  # pyright: ignore


@pytest.mark.parametrize("name", GRADED)
def test_the_score_of_a_grader_that_failed_is_left_out_and_counted(log, name):
    path = log(*GRADED[name])
    with pytest.warns(CordialWarning, match="^1 row without an answer left out: .*grader failed"):
        read = cp.read(path, options=HALVES)
    assert read.form is not None and read.form.name == name
    assert table(read, "n").tolist() == [[0, 0, 1], [1, 0, 0]] and len(read.failed) == 1


def test_a_failure_counts_for_what_it_stands_beside_alone(log):
    rows = {"id": 1, "a": {"score": 4, "error": "x"}, "b": {"score": 3}, "c": [{"error": "y"}]}
    with pytest.warns(CordialWarning, match="`?a.error x"):
        read = cp.read(log(rows), item="id", answer="a.score,b.score", options=STARS)
    assert read.readings["task"] == ["b.score"]


SAID = {"score": 4, "reasoning": "8 of 10 facts, 2 flaws"}
TEXT = json.dumps(SAID)
CALL = {"type": "function", "function": {"name": "grade", "arguments": TEXT}}
MESSAGES = {
    "chat": {"choices": [{"message": {"content": None, "tool_calls": [CALL]}}]},
    "a function": {"choices": [{"message": {"content": "", "function_call": CALL["function"]}}]},
    "after a text": {"choices": [{"message": {"content": "It is 2.", "tool_calls": [CALL]}}]},
    "responses": {"object": "response", "status": "completed", "output": [
        {"type": "reasoning"}, {"type": "function_call", "name": "grade", "arguments": TEXT}]},
    "anthropic": {"type": "message", "role": "assistant", "content": [
        {"type": "text", "text": "Now 1: "}, {"type": "tool_use", "name": "grade", "input": SAID}]},
    "bedrock": {"stopReason": "tool_use", "output": {"message": {"role": "assistant", "content": [
        {"toolUse": {"toolUseId": "1", "name": "grade", "input": SAID}}]}}},
    "ollama": {"done": True, "message": {"role": "assistant", "content": "", "tool_calls": [
        {"function": {"name": "grade", "arguments": SAID}}]}},
    "gemini": {"candidates": [{"content": {"role": "model", "parts": [
        {"functionCall": {"name": "grade", "args": SAID}}]}}]},
}  # fmt: skip


@pytest.mark.parametrize("protocol", MESSAGES)
def test_the_arguments_of_a_tools_call_are_an_answer(log, protocol):
    for row in (MESSAGES[protocol], {"item_id": "a", "response": MESSAGES[protocol]}):
        read = cp.read(log(row), options=STARS)
        assert table(read, "n").tolist() == [[0, 0, 0, 1, 0]]
        read = cp.read(log({"x": row}), answer="x.response" if "response" in row else "x",
                       options=STARS)  # fmt: skip
        assert table(read, "n").tolist() == [[0, 0, 0, 1, 0]]


def test_arguments_that_explain_their_rating_by_another_name_have_no_answer(log):
    vague = {"function": {"arguments": json.dumps({"level": 4, "why": "2 flaws"})}}
    path = log({"choices": [{"message": {"tool_calls": [vague]}}]})
    with pytest.raises(InputError, match="none of its 1 answers .*tool_calls.0.function.arguments"):
        cp.read(path, options=STARS)
    field = "choices.0.message.tool_calls.0.function.arguments.level"
    assert table(cp.read(path, answer=field, options=STARS), "n").tolist() == [[0, 0, 0, 1, 0]]


EXPORTS = {
    "label-studio-min": [
        {"text": "a 5", "item_id": "t1", "id": 8, "rating": 4, "annotator": 1, "annotation_id": 7,
         "created_at": "x", "lead_time": 2.5},
        {"text": "a 5", "item_id": "t1", "id": 8, "rating": 2, "annotator": 2, "annotation_id": 8,
         "created_at": "x", "lead_time": 3.5},
    ],
    "mturk": [
        {"HITId": "h", "WorkerId": who, "AssignmentStatus": "Approved", "Input.item_id": "t1",
         "Answer.rating": rating}
        for who, rating in (("1", 4), ("2", 2))
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", EXPORTS)
@pytest.mark.parametrize("ending", ["json", "csv"])
def test_what_people_rated_is_labels(log, tmp_path, name, ending):
    path, rows = log(*EXPORTS[name]), EXPORTS[name]
    if ending == "csv":
        path = tmp_path / "export.csv"
        lines = [rows[0].keys(), *(row.values() for row in rows)]
        path.write_text("".join(",".join(map(str, line)) + "\n" for line in lines))
    assert find_format(path).name == name
    read = cp.read(path)
    assert not len(read) and read.labels["item_id"] == ["t1", "t1"]
    assert read.labels["annotator"] == ["1", "2"] and read.labels["label"] == ["4", "2"]


def test_a_control_of_another_name_is_named_by_hand(log):
    rows = [{**row, "quality": row["rating"]} for row in EXPORTS["label-studio-min"]]
    path = log(*[{k: v for k, v in row.items() if k != "rating"} for row in rows])
    with pytest.raises(InputError, match=r"they have .*quality \(4, 2\)"):
        cp.read(path)
    assert cp.read(path, label="quality").labels["label"] == ["4", "2"]


def test_the_name_of_a_category_wins_over_its_number(log):
    base = {"name": "tone", "source": "EVAL"}
    rows = [
        {**base, "traceId": "a", "value": 0, "stringValue": "good", "dataType": "CATEGORICAL"},
        {**base, "traceId": "b", "value": 1, "stringValue": "bad", "dataType": "CATEGORICAL"},
    ]
    read = cp.read(log(*rows), options=("bad", "good"))
    assert table(read, "n").tolist() == [[0, 1], [1, 0]]
    numbers = [{**base, "traceId": "c", "value": 4, "stringValue": None, "dataType": "NUMERIC"}]
    assert table(cp.read(log(*numbers), options=STARS), "n").tolist() == [[0, 0, 0, 1, 0]]


def assessment(kind, who, value):
    source = {"source_type": kind, "source_id": who}
    return {"assessment_name": "tone", "source": source, "feedback": {"value": value}}


BOTH = [assessment("HUMAN", "ann", 2), assessment("LLM_JUDGE", "judge", 4)]


@pytest.mark.parametrize("inside", ["info", None])
def test_peoples_assessments_in_a_list_with_the_judges_are_labels(log, inside):
    trace = {"trace_id": "t", "assessments": BOTH}
    lost = assessment("LLM_JUDGE", "judge", 1)
    lost["feedback"]["error"] = {"error_code": "TIMEOUT"}
    other = {"trace_id": "u", "assessments": [lost]}
    rows = [{inside: row} if inside else row for row in (trace, other)]
    with pytest.warns(CordialWarning, match="1 row without .*grader failed: .*TIMEOUT"):
        read = cp.read(log(*rows), options=STARS)
    assert table(read, "n").tolist() == [[0, 0, 0, 1, 0]]
    assert read.labels["label"] == ["2"] and read.labels["user"] == ["ann"]


@pytest.mark.parametrize(
    ("rows", "answer", "condition"),
    [
        ([{"id": 1, "all": BOTH[::-1]}], "all.*.feedback.value", "all.*.source.source_type=HUMAN"),
        ([{"id": 1, "s": [{"source": "human", "v": 2}, {"source": "gpt", "v": 4}]}], "s.*.v",
         "s.*.source=human"),
        ([{"id": 1, "score": 2, "annotator_kind": "HUMAN"},
          {"id": 1, "score": 4, "annotator_kind": "LLM"}], "score", "annotator_kind=HUMAN"),
    ],
)  # fmt: skip
def test_peoples_answers_among_the_judges_are_warned_of(log, rows, answer, condition):
    path = log(*rows)
    with pytest.warns(
        CordialWarning, match=f"1 text with answers by people .{condition}".replace("*", ".")
    ):
        read = cp.read(path, item="id", answer=answer, options=STARS)
    assert read.values[0].values.sum() == 2
    leave = condition.replace("=", "!=")
    judges = cp.read(path, item="id", answer=answer, where=leave, options=STARS)
    assert table(judges, "n").tolist() == [[0, 0, 0, 1, 0]]
    people = cp.read(path, item="id", label=answer, where=condition, options=STARS)
    assert people.labels["label"] == ["2"]


def test_the_source_of_a_text_is_not_who_rated_it(log):
    read = cp.read(log({"id": 1, "source": "human", "s": 4}), item="id", answer="s", options=STARS)
    assert not read.doubts
