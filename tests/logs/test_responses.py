"""Logs of servers: OpenAI's protocols, vLLM and llama.cpp."""

import numpy as np
import pytest
from logs_of_reviews import chat, read, table

from cordial_ppl.errors import InputError


def test_several_choices_are_several_answers(log):
    found = read(log(*(chat({"4": -0.1, "5": -2.4}, choices=n) for n in (1, 2))))
    np.testing.assert_allclose(*table(found, "logprob"))
    assert found.unnamed and found.readings["item_id"] == ["0", "1"]
    texts = [{"message": {"content": text}, "logprobs": None} for text in ("4", "Score: 5", "?")]
    found = read(log({"item_id": 7, "choices": texts}))
    assert table(found, "n").tolist() == [[0, 0, 0, 1, 1]]
    assert found.count("unread") == 1 and found.readings["item_id"] == ["7"]


def test_fields_beside_a_response_are_passed_on(log):
    body = {**chat({"4": -0.1}), "metadata": {"system": "pine"}}
    beside = {"item_id": "a", "prompt_id": 3, "meta": {"lang": "de"}, "note": "long " * 50}
    expected = {"metadata.system": ["pine"]}
    assert read(log(body)).extras == expected
    found = read(log({**beside, "request": {"model": "m"}, "response": {"body": body}}))
    assert found.extras == {**expected, "prompt_id": [3], "meta.lang": ["de"]}


def test_a_prompt_that_was_echoed_is_no_answer(log):
    logprobs = {
        "tokens": ["Rate", " 3", " 4"],
        "token_logprobs": [None, -5.0, -0.1],
        "top_logprobs": [None, {" 3": -5.0}, {" 4": -0.1, " 5": -2.5}],
    }
    body = {"choices": [{"text": "Rate 3 4", "logprobs": logprobs}]}
    found = read(log({**body, "usage": {"completion_tokens": 1}}), explain=1)
    assert [text for text, _ in found.explained[0].reading.parts[3]] == [" 4"]  # pyright: ignore


def legacy(tokens, scores):
    return {"choices": [{"logprobs": {"tokens": tokens, "token_logprobs": scores}}]}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"custom_id": "a", "response": {"text": "4"}}, "line 1: expected a response with `choi"),
        (chat({"token_id:19": -0.1}), "run the server without --return-tokens-as-token-ids"),
        (legacy(["token_id:19"], [-0.5]), "line 1: tokens must be text; found 'token_id:19'"),
        (legacy(["4"], []), "none of its 1 answers names an option"),
        ({"choices": [{"logprobs": [1]}]}, "line 1 does not have the form of responses in Open"),
        (chat({"4": 0.5}), "line 1: log-probabilities must be 0 or below; found 0.5 of '4'"),
        (
            {"content": "4", "completion_probabilities": [{"token": "4"}]},
            "line 1 does not have the form of llama.cpp's native completions: 'logprob' is missing",
        ),
    ],
)
def test_responses_that_are_none(log, row, message):
    with pytest.raises(InputError, match=message):
        read(log(row))


FAILURES = {
    "It expired": {"response": {"status_code": 200}, "error": {"message": "It expired."}},
    "too long": {"response": None, "error": {"message": "too long"}},
    "status 500": {"response": {"status_code": 500, "body": None}},
    "no answer: max_output_tokens": {
        "response": {"object": "response", "output": [], "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"}},
    },
    "no answer": {"response": {"body": {"choices": []}}},
}  # fmt: skip


@pytest.mark.parametrize("why", FAILURES)
@pytest.mark.parametrize("first", [True, False])
def test_a_request_that_failed_costs_its_own_answer_alone(log, why, first):
    failed = {"custom_id": "b", **FAILURES[why]}
    good = {"custom_id": "a", "response": {"body": chat({"4": -0.1, "5": -3.0})}}
    found = read(log(*([failed, good] if first else [good, failed])))
    assert found.readings["item_id"] == ["a"] and not found.unread
    assert found.failed == [f"line {1 if first else 2} ({why})"]
    with pytest.raises(InputError, match=f"all 2 requests failed. The first: line 1 .{why[:10]}"):
        read(log(failed, failed))


@pytest.mark.parametrize(
    ("created", "day"),
    [
        (1_767_225_600, "2026-01-01"), (1_767_225_600_000, "2026-01-01"),
        (1e18, None), (float("inf"), None), (float("nan"), None), (True, None), ("now", None),
    ],
)  # fmt: skip
def test_a_time_that_is_none_is_no_date(log, created, day):
    found = read(log(chat({"4": -0.1, "5": -3.0}, created=created)))
    assert found.readings.get("reader_date", [None]) == [day]


def test_outputs_without_log_probabilities(log):
    outputs = [{"token_ids": [1], "text": text, "logprobs": None} for text in "445"]
    found = read(log({"request_id": "0", "outputs": outputs}))
    assert table(found, "n").tolist() == [[0, 0, 0, 2, 1]]


def test_probabilities_after_sampling(log):
    top = [{"token": "4", "prob": 0.75}, {"token": "5", "prob": 0.25}, {"token": "1", "prob": 0.0}]
    entry = {"token": "4", "prob": 0.75, "top_probs": top}
    found = read(log({"content": "4", "completion_probabilities": [entry]}))
    probs = np.exp(table(found, "logprob")[0])
    np.testing.assert_allclose(probs, [1e-4 / 3] * 3 + [0.75, 0.25])
    assert found.floored == {"1": 1, "2": 1, "3": 1}
    found = read(log({"content": "4", "tokens_predicted": 1}))
    assert table(found, "n").tolist() == [[0, 0, 0, 1, 0]]
