"""Whose a score is and whether it is one: graders that failed, tools' calls, people's exports."""

import json
from typing import Any

import pytest
from logs_of_reviews import table

import cordial_ppl as cp
from cordial_ppl.errors import CordialWarning, InputError, SettingNeeded
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
    with pytest.warns(CordialWarning, match="^1 score of a grader that failed left out: "):
        read = cp.read(path, options=HALVES)
    assert read.form is not None and read.form.name == name
    assert table(read, "n").tolist() == [[0, 0, 1], [1, 0, 0]] and len(read.failed) == 1


def test_a_failure_counts_for_what_it_stands_beside_alone(log):
    rows = {"id": 1, "a": {"score": 4, "error": "x"}, "b": {"score": 3}, "c": [{"error": "y"}]}
    with pytest.warns(CordialWarning, match="the grader failed: error x"):
        read = cp.read(log(rows), item="id", answer="a.score,b.score", options=STARS)
    assert read.readings["task"] == ["b.score"]


@pytest.mark.parametrize(
    ("beside", "answer"),
    [
        ({"scores": [{"score": 0, "scoring_failed": True}]}, "scores.*.score"),
        ({"results": [{"score": 0, "sample": {"error": {"code": "x"}}}]}, "results.*.score"),
        ({"output": {"scores": {"tone": 0}}, "exception": "TypeError"}, "output.scores.tone"),
        ({"score": 0, "label": "NOT_PARSABLE"}, "score"),
        ({"score": 0, "execution_status": "FAILED"}, "score"),
        ({"score": 0, "status": "error"}, "score"),
        ({"verdict": {"score": 0}, "error": "HTTP 500"}, "verdict.score"),
    ],
)
def test_tools_say_in_many_words_that_a_grader_failed(log, beside, answer):
    fine = json.loads(json.dumps(beside).replace("true", "false").replace("0", "1"))
    for name in ("exception", "label", "execution_status", "status", "error"):
        fine |= {name: "completed"} if "status" in name else {name: ""} if name in fine else {}
    fine |= {"results": [{"score": 1, "sample": {"error": None}}]} if "results" in fine else {}
    path = log({"id": 1, **beside}, {"id": 2, **fine})
    with pytest.warns(CordialWarning, match="^1 score of a grader that failed left out: line 1"):
        read = cp.read(path, item="id", answer=answer, options=HALVES)
    assert read.readings["item_id"] == ["2"] and not read.unread


def test_a_number_that_stands_for_none_is_no_option(log):
    rows = [{"item_id": i, "score": score} for i, score in enumerate((-1, 3, 5))]
    with pytest.raises(SettingNeeded) as raised:
        cp.read(log(*rows))
    assert raised.value.value == STARS
    with pytest.warns(CordialWarning, match="^1 answer without an option left out: line 1"):
        assert len(cp.read(log(*rows), options=STARS)) == 2


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
    "gemini's package": {"candidates": [{"content": {"parts": [
        {"text": "It has 2 flaws."}, {"function_call": {"name": "grade", "args": SAID}}]}}]},
    "cohere": {"usage": {}, "message": {"role": "assistant", "tool_calls": [CALL]}},
}  # fmt: skip


@pytest.mark.parametrize("protocol", MESSAGES)
def test_the_arguments_of_a_tools_call_are_an_answer(log, protocol):
    for row in (MESSAGES[protocol], {"item_id": "a", "response": MESSAGES[protocol]}):
        read = cp.read(log(row), options=STARS)
        assert table(read, "n").tolist() == [[0, 0, 0, 1, 0]]
        read = cp.read(log({"x": row}), answer="x.response" if "response" in row else "x",
                       options=STARS)  # fmt: skip
        assert table(read, "n").tolist() == [[0, 0, 0, 1, 0]]


@pytest.mark.parametrize(
    "row",
    [
        {"custom_id": "a", "result": {"type": "succeeded", "message": MESSAGES["anthropic"]}},
        {"key": "a", "request": {"x": 1}, "response": MESSAGES["gemini"]},
        {"recordId": "a", "modelInput": {"x": 1}, "modelOutput": MESSAGES["anthropic"]},
        {"custom_id": "a", "response": {"status_code": 200, "body": MESSAGES["responses"]}},
    ],
)
def test_batches_name_their_texts(log, row):
    read = cp.read(log(row), options=STARS)
    assert read.readings["item_id"] == ["a"] and not read.extras
    assert table(read, "n").tolist() == [[0, 0, 0, 1, 0]]


def test_of_two_tools_the_last_is_the_answer(log):
    other = {"function": {"name": "note", "arguments": json.dumps({"flaws": 2})}}
    path = log(*({"choices": [{"message": {"tool_calls": calls}}]}
                 for calls in ([other, CALL], [CALL, other])))  # fmt: skip
    with pytest.warns(CordialWarning, match="1 answer without an option left out: line 2"):
        assert table(cp.read(path, options=STARS), "n").tolist() == [[0, 0, 0, 1, 0]]


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
    "toloka": [
        {"INPUT:item_id": "t1", "OUTPUT:rating": rating, "ASSIGNMENT:worker_id": who,
         "ASSIGNMENT:status": status}
        for who, rating, status in
        (("1", 4, "APPROVED"), ("3", 1, "REJECTED"), ("2", 2, "APPROVED"))
    ],
    "prodigy": [
        {"_input_hash": 1, "meta": {"id": "t1"}, "accept": [str(rating)], "answer": answer,
         "_annotator_id": who}
        for who, rating, answer in (("1", 4, "accept"), ("3", 1, "ignore"), ("2", 2, "accept"))
    ],
    "people": [{"item_id": "t1", "worker_id": "1", "rating": 4},
               {"item_id": "t1", "worker_id": "2", "rating": 2}],
}  # fmt: skip


@pytest.mark.parametrize("name", EXPORTS)
@pytest.mark.parametrize("ending", ["json", "csv"])
def test_what_people_rated_is_labels(log, tmp_path, name, ending):
    path, rows = log(*EXPORTS[name]), EXPORTS[name]
    if ending == "csv" and name != "prodigy":
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
    with pytest.warns(CordialWarning, match="1 score of a grader that failed .*TIMEOUT"):
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
