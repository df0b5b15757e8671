"""Responses of servers in the shapes of their public schemas: read, or left out by the reason.

Chat completions, completions and Responses of OpenAI; Gemini's GenerateContentResponse, as the API
writes names and as its Python package dumps them; Message and batch results of Anthropic; Bedrock's
Converse; Ollama's `/api/chat` and `/api/generate`; Cohere's v2 chat.
"""

import json
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from logs_of_reviews import LABELS, LOGS, chat, table

import cordial_ppl as cp
from cordial_ppl.errors import CordialWarning, InputError
from cordial_ppl.logs.protocols import read_value
from cordial_ppl.tables import write_table

STARS = "1,2,3,4,5"
TEN = ",".join(map(str, range(11)))
HALVES = "1,1.5,2,2.5,3,3.5,4,4.5,5"
TOPS = {"4": -0.3, "5": -1.6, "3": -3.0}


def openai(text, reason="stop", **more):
    return {"choices": [{"message": {"role": "assistant", "content": text},
                         "finish_reason": reason}], **more}  # fmt: skip


def gemini(*parts, reason="STOP"):
    """generateContent: candidates[].content.parts[], whose thoughts have a flag."""
    return {"candidates": [{"content": {"parts": list(parts), "role": "model"},
                            "finishReason": reason}], "modelVersion": "g-2"}  # fmt: skip


def read(log, *responses, options: str | None = STARS, **settings):
    rows = [{"item_id": f"t{i}", "response": one} for i, one in enumerate(responses)]
    return cp.read(log(*rows), options=options, **settings)


def entries(tops=TOPS, token="token", logprob="logprob"):
    return [{token: name, logprob: score} for name, score in tops.items()]


def token():
    return {**entries()[0], "top_logprobs": entries()}


WITH_TOKENS = {
    "chat": chat(TOPS),
    "responses": {
        "object": "response", "status": "completed", "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "content": [
                {"type": "output_text", "text": "4", "logprobs": [token()]}]}],
    },
    "completions": {"choices": [{"text": "4", "finish_reason": "length", "logprobs": {
        "tokens": ["4"], "token_logprobs": [-0.3], "top_logprobs": [TOPS]}}]},
    "ollama": {"message": {"role": "assistant", "content": "4"}, "done": True,
               "done_reason": "stop", "logprobs": [token()]},
    "ollama generate": {"model": "m", "response": "4", "done": True, "done_reason": "stop",
                        "logprobs": [token()]},
    "gemini": {"candidates": [{
        "content": {"parts": [{"text": "4"}]}, "finishReason": "STOP", "logprobsResult": {
            "topCandidates": [{"candidates": entries(logprob="logProbability")}],
            "chosenCandidates": entries(logprob="logProbability")[:1]}}]},
    "gemini, dumped by Python": {"candidates": [{
        "content": {"parts": [{"text": "4", "thought": None}]}, "finish_reason": "STOP",
        "logprobs_result": {
            "top_candidates": [{"candidates": entries(logprob="log_probability")}],
            "chosen_candidates": entries(logprob="log_probability")[:1]}}]},
}  # fmt: skip


def test_tokens_with_the_same_text_add_up():
    """A vocabulary may have "4" with a space and without, which servers decode alike."""
    top = [*entries({"4": -0.25, "5": -2.0}), *entries({"4": -3.0, "3": -4.5})]
    # A token that is listed twice is one.
    listed = {"content": [{**top[0], "top_logprobs": [*top, top[1]]}]}
    answers: Any = read_value(listed, "logprobs")
    (answer,) = answers
    both = np.logaddexp(-0.25, -3.0)
    assert dict(answer.positions[0].top) == pytest.approx({"4": both, "5": -2.0, "3": -4.5})
    assert read_value(top, "logprobs") == [answer._replace(text="4", ended=True)]


@pytest.mark.parametrize("name", WITH_TOKENS)
def test_log_probabilities_are_found_in_every_protocol(log, name):
    one = read(log, WITH_TOKENS[name])
    assert one.table[0] == "logprob" and not list(one.doubts)
    np.testing.assert_allclose(table(one)[0, 2:], [-3.0, -0.3, -1.6])


@pytest.mark.parametrize(
    "name", ["openai_chat", "openai_batch", "openai_completions", "openai_responses"]
)
def test_recorded_logs_say_what_was_said(name):
    one = cp.read(LOGS / f"{name}.jsonl", options=STARS)
    assert one.form == "responses" and one.table[0] == "logprob"
    stars = [int(LABELS[item]) for item in one.readings["item_id"]]
    assert np.corrcoef(table(one).argmax(axis=1), stars)[0, 1] > 0.8
    native: dict[str, Any] = {
        "item": "item_id",
        "answer": "response.completion_probabilities",
        "label": "label",
    }
    one = cp.read(LOGS / "llama_cpp.jsonl", options=STARS, **native)
    assert one.table[0] == "logprob" and len(one.labels["label"]) == len(one) == 8
    tops = "outputs[0].logprobs[0].*.{token: decoded_token, logprob: logprob}"
    one = cp.read(LOGS / "vllm.jsonl", options=STARS, item="item_id", answer=tops)
    assert one.table[0] == "logprob" and len(one) == 8


ANSWERS = {
    "anthropic": {"type": "message", "role": "assistant", "stop_reason": "end_turn", "content": [
        {"type": "thinking", "thinking": "Score: 2"}, {"type": "text", "text": "Score: 4"}]},
    "bedrock": {"output": {"message": {"role": "assistant", "content": [
        {"reasoningContent": {"reasoningText": {"text": "Score: 2"}}}, {"text": "4"}]}},
        "stopReason": "end_turn"},
    "tool": {"choices": [{"finish_reason": "tool_calls", "message": {
        "content": None, "role": "assistant",
        "tool_calls": [{"function": {"arguments": '{"why": "2 flaws", "score": 4}'}}],
    }}]},
    "gemini tool": gemini({"functionCall": {"name": "rate", "args": {"score": 4}}}),
    "gemini thought": gemini({"text": "Score: 2", "thought": True}, {"text": "4"}),
    "wrapped": {"status_code": 200, "body": openai("Rating: [[4]]")},
    "parts": openai([{"type": "thinking", "text": "Score: 2"}, {"type": "text", "text": "4"}]),
    "tag": openai("<seed:think>Score: 2</seed:think>Score: 4"),
    "one token": openai("4", "length", usage={"completion_tokens": 1}),
    "one token, gemini": gemini({"text": "4"}, reason="MAX_TOKENS")
    | {"usageMetadata": {"candidatesTokenCount": 1}},
    "one token, anthropic": {"type": "message", "role": "assistant", "stop_reason": "max_tokens",
                             "content": [{"type": "text", "text": "4"}],
                             "usage": {"output_tokens": 1}},
    "one token, bedrock": {"output": {"message": {"role": "assistant", "content": [{"text": "4"}]}},
                           "stopReason": "max_tokens", "usage": {"outputTokens": 1}},
    "ollama generate": {"response": "4", "thinking": "Score: 2", "done": True,
                        "done_reason": "stop"},
    "anthropic, batch": {"type": "succeeded", "message": {
        "type": "message", "role": "assistant", "content": [{"type": "text", "text": "4"}],
        "stop_reason": "end_turn"}},
    "cohere": {"id": "c", "finish_reason": "COMPLETE", "usage": {"tokens": {"output_tokens": 1}},
               "message": {"role": "assistant", "content": [{"type": "text", "text": "4"}]}},
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_found_and_thoughts_are_none(log, name):
    one = read(log, ANSWERS[name])
    assert one.options[int(table(one)[0].argmax())] == "4" and one.table[0] == "n"


LEFT_OUT = {
    "cut": [
        (STARS, openai("<seed:think>First pass.\nScore: 1\nBut", "length")),
        (TEN, openai("Score: 1", "length")), (HALVES, openai("Rating: 1.", "length")),
        (STARS, openai("Score: 2. On the other hand", "max_tokens")),
        (STARS, gemini({"text": "Score: 1"}, reason="MAX_TOKENS")),
        (STARS, {"type": "message", "role": "assistant", "stop_reason": "max_tokens",
                 "content": [{"type": "text", "text": "Score: 1"}]}),
        (STARS, {"object": "response", "status": "incomplete", "output": [
            {"type": "message", "content": [{"type": "output_text", "text": "Score: 1"}]}]}),
        (STARS, {"message": {"role": "assistant", "content": "Score: 1"}, "done": True,
                 "done_reason": "length"}),
        (STARS, {"candidates": [{"content": {"parts": [{"text": "Score: 1"}]},
                                 "finish_reason": "FinishReason.MAX_TOKENS"}]}),
        (STARS, {"response": "Score: 1", "done": True, "done_reason": "length"}),
        (TEN, {"choices": [chat({"Score": 0.0}, {":": 0.0}, {" 1": -0.1})["choices"][0]
                           | {"finish_reason": "length"}]}),
    ],
    "filtered": [
        (STARS, {"candidates": [{"finishReason": "SAFETY", "index": 0}]}),
        (STARS, {"promptFeedback": {"blockReason": "OTHER"}}),
        (STARS, {"candidates": None, "prompt_feedback": {"block_reason": "SAFETY"}}),
        (STARS, {"finish_reason": "ERROR_TOXIC", "usage": {"tokens": {}}, "message": {
            "role": "assistant", "content": [{"type": "text", "text": "Score: 1"}]}}),
        (STARS, openai("Score: 1", "content_filter")),
    ],
    "refused": [
        (STARS, {"choices": [{"message": {"content": None, "refusal": "I will not give a 1."},
                              "finish_reason": "stop"}]}),
        (STARS, {"type": "message", "role": "assistant", "stop_reason": "refusal",
                 "content": [{"type": "text", "text": "1"}]}),
        (STARS, {"object": "response", "status": "completed", "output": [
            {"type": "message", "content": [{"type": "refusal", "refusal": "No 1."}]}]}),
    ],
    "failed": [
        (STARS, {"status_code": 500, "body": None}), (STARS, {"error": {"message": "expired"}}),
        (STARS, openai("Score: 1", "error")), (STARS, openai("Score: 1", "abort")),
        (STARS, openai("Score: 1", "insufficient_system_resource")),
        (STARS, gemini({"text": "Score: 1"}, reason="MALFORMED_FUNCTION_CALL")),
        (STARS, {"candidates": [{"finishReason": "OTHER"}]}),
        (STARS, None), (STARS, {}), (STARS, {"model": "m", "answers": {}}),
        (STARS, {"type": "expired"}), (STARS, {"type": "canceled"}),
        (STARS, {"object": "response", "status": "cancelled", "output": [
            {"type": "message", "content": [{"type": "output_text", "text": "Score: 1"}]}]}),
    ],
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::cordial_ppl.errors.CordialWarning")
@pytest.mark.parametrize(
    ("reason", "options", "response"),
    [(reason, *case) for reason, cases in LEFT_OUT.items() for case in cases],
)
def test_what_is_no_answer_is_kept_without_a_reading(log, tmp_path, reason, options, response):
    whole = openai("2") if "logprobs" not in json.dumps(response) else chat({"2": -0.1, "1": -3.0})
    one = read(log, response, whole, options=options)
    assert any("kept without a reading: line 1" in words for words in one.doubts)
    kind, _ = one.table
    columns = pl.DataFrame(one.readings)
    assert columns["item_id"].to_list() == ["t0", "t1"]
    assert columns["unread"].to_list() == [reason, None] and len(one) == len(one.logits) == 1
    cells = columns.select(f"{kind}_{option}" for option in one.options)
    assert set(cells.row(0)) == {None} and None not in cells.row(1)
    path = tmp_path / "readings.csv"
    write_table(path, one.readings)
    first, row, _ = path.read_text().splitlines()
    cells = dict(zip(first.split(","), row.split(","), strict=True))
    assert {c for name, c in cells.items() if name.startswith(kind)} == {""}
    # Alone it is no table of readings.
    with pytest.raises(InputError):
        read(log, response, options=options)


def test_a_text_that_is_not_read_keeps_what_else_is_known(log):
    blocked = LEFT_OUT["filtered"][0][1]
    rows = [
        {"item_id": item, "system": system, "label": label, "response": response}
        for item, system, label, response in (
            ("a", "x", 1, blocked), ("b", "x", 2, openai("2", model="m")),
            ("c", "y", 3, openai("Hm.", model="m")), ("d", "y", 4, blocked),
            ("d", "y", 4, openai("4", model="m")),
        )
    ]  # fmt: skip
    with pytest.warns(CordialWarning) as told:
        one = cp.read(log(*rows), options=STARS)
    assert any("filter, kept without a reading: line 1" in str(each.message) for each in told)
    columns = one.readings
    assert columns["item_id"] == ["a", "b", "c", "d"] and columns["system"] == ["x", "x", "y", "y"]
    # A request that failed does not say whom it was sent to: there is only one.
    assert columns["reader"] == ["m"] * 4
    # A text with another answer was read.
    assert columns["unread"] == ["filtered", None, "no option", None]
    assert one.labels == {"item_id": ["a", "b", "c", "d"], "label": ["1", "2", "3", "4"]}
    logits, labels = one.labelled
    assert logits.argmax(axis=1).tolist() == [1, 3] and labels == ["2", "4"]


def test_labels_are_of_no_judge_and_long_names_stay(log):
    rows = [
        {"item_id": item * 300, "label": 3, "response": openai("2", model=model)}
        for item in "ab" for model in "xy"
    ]  # fmt: skip
    one = cp.read(log(*rows), options=STARS, reader="x")
    assert one.readings["item_id"] == one.labels["item_id"] == ["a" * 300, "b" * 300]
    assert one.labels["label"] == ["3", "3"]


def test_a_failure_of_an_unknown_judge_is_of_those_that_have_not_read_the_text(log):
    failed = {"error": {"message": "expired"}}
    rows = [
        *({"item_id": item, "response": openai("2", model=m)} for item in "ab" for m in "xy"),
        {"item_id": "c", "response": failed}, {"item_id": "d", "response": failed},
        {"item_id": "d", "response": openai("3", model="y")}, {"response": failed},
    ]  # fmt: skip
    with pytest.warns(CordialWarning):
        one = cp.read(log(*rows), options=STARS)
    unread = [row for row in zip(*one.readings.values(), strict=True) if row[-1]]
    assert [(row[0], row[1]) for row in unread] == [("c", "x"), ("c", "y"), ("d", "x")]
    # What has no name is left out, and so is a task of which nothing was read.
    assert any("left out: line 8" in words for words in one.doubts)
    rows = [{"id": i, "tone": 4, "style": "?"} for i in range(3)]
    with pytest.warns(CordialWarning, match="3 answers naming no option, left out"):
        one = cp.read(log(*rows), item="id", answer="tone,style", options=STARS)
    assert one.readings["task"] == ["tone"] * 3 and "unread" not in one.readings


@pytest.mark.filterwarnings("ignore::cordial_ppl.errors.CordialWarning")
def test_texts_that_name_no_option_are_not_read(log):
    thought = gemini({"text": "Score: 4", "thought": True}, {"text": "A poor text."})
    one = read(log, thought, openai("<think>Score: 3"), openai("2"))
    assert one.readings["unread"] == ["no option", "cut", None]
    with pytest.raises(InputError, match="names an option"):
        read(log, thought, thought)
    # "1" of one token may have become "10".
    cut = openai("1", "length", usage={"completion_tokens": 1})
    assert read(log, cut, openai("2"), options=TEN).readings["unread"] == ["cut", None]
    assert "unread" not in read(log, cut, openai("2")).readings


def test_cut_samples_and_choices_of_questions_are_no_answers(log):
    choices = [openai("4")["choices"][0], openai("Score: 2", "length")["choices"][0]]
    with pytest.warns(CordialWarning, match="1 text with some sampled answers"):
        one = read(log, {"choices": choices})
    assert table(one).tolist() == [[0, 0, 0, 1, 0]] and one.values[0].doubts == {"unread"}
    tops = [chat(TOPS)["choices"][0], chat({"Score": 0.0}, {": 2": 0.0})["choices"][0]]
    tops[1]["finish_reason"] = "length"
    with pytest.warns(CordialWarning, match="1 text with some sampled answers"):
        np.testing.assert_allclose(table(read(log, {"choices": tops}))[0, 3], -0.3)
    row = {"item_id": 1, "choices": [{"label": "A", "text": "4"}], "output": [], "score": 2}
    one = cp.read(log(row), options=STARS)
    assert one.form == "samples" and table(one).tolist() == [[0, 1, 0, 0, 0]]


def test_tokens_of_thoughts_are_no_answer(log):
    answer = chat({"Score: ": 0.0}, {"2": -0.1}, {"\n": 0.0}, {"4": -0.2, "5": -2.0})
    answer["choices"][0]["message"]["content"] = "4"
    one = read(log, answer)
    np.testing.assert_allclose(table(one)[0, 3:], [-0.2, -2.0])


def test_who_answered_goes_along(log):
    row = {"custom_id": "a", "task": "tone", "label": 5, "metadata": {"system": "s1"},
           "response": chat(TOPS) | {"model": "m-1"}}  # fmt: skip
    named: dict[str, Any] = {"item": "custom_id", "answer": "response", "task": "task"}
    naming: dict[str, Any]
    for naming in ({}, named | {"label": "label"}):
        settings: Any = naming
        one = cp.read(log(row), options=STARS, **settings)
        assert {n: c for n, (c,) in one.readings.items() if not n.startswith("logprob")} == {
            "item_id": "a", "reader": "m-1", "task": "tone", "reader_model": "m-1",
            "metadata.system": "s1",
        }  # fmt: skip
        assert one.labels == {"item_id": ["a"], "task": ["tone"], "label": ["5"]}


@pytest.mark.parametrize(
    "response",
    [
        openai("4", model="m-1"), gemini({"text": "4"}) | {"modelVersion": "m-1"},
        gemini({"text": "4"}) | {"modelVersion": None, "model_version": "m-1"},
        ANSWERS["anthropic, batch"]
        | {"message": ANSWERS["anthropic, batch"]["message"] | {"model": "m-1"}},
    ],
)  # fmt: skip
def test_every_protocol_names_the_model(log, response):
    assert read(log, response).readings["reader_model"] == ["m-1"]


@pytest.mark.parametrize(
    "response",
    [chat({"4": 0.5}), chat({"4": math.nan}), chat({"token_id:19": -0.1}), openai([4])],
)
def test_what_is_no_response_names_its_row(log, response):
    with pytest.raises(InputError, match="line 2"):
        read(log, chat(TOPS), response)
    with pytest.raises(InputError, match="line 1"):
        read(log, response, chat(TOPS))


def test_readings_are_of_one_kind(log):
    with pytest.raises(InputError, match="must all be of the same kind"):
        read(log, chat(TOPS), openai("4"))
