"""Answers of a server that are none, or not whole; what a cache makes of them."""

import json
from pathlib import Path

import numpy as np
import pytest
from asked_texts import WORDS, expected, logprobs
from loopback import STARS, completion, stars_of

from cordial_ppl.tables.files import read_columns

TOO_LONG = 400, {"error": {"message": "the context is too long"}}, {}


def refusing(server, numbers, refusal=TOO_LONG):
    def respond(request):
        content = request["messages"][-1]["content"]
        return refusal if any(f"number {k} " in content for k in numbers) else server.usual(request)

    return respond


def test_a_text_that_a_guard_forbids_is_refused_and_no_key(ask, server):
    server.respond = refusing(server, (5,), (403, {"error": "flagged"}, {}))
    assert "'t5' (status 403: flagged)" in ask(status=1).output
    assert len(server.asked) == 12


@pytest.mark.parametrize("numbers", [(0,), (0, 1, 2, 7)])
def test_a_refused_text_blocks_no_other(ask, server, numbers):
    server.respond = refusing(server, numbers)
    shown = ask(status=1).output
    assert f"{len(numbers)} of 12 questions got no answer: 't0' (status 400: the context" in shown
    assert "--partial leaves them out" in shown
    assert len(server.asked) == 12 and not Path("out.csv").exists()
    assert all(request["top_logprobs"] == 20 for request in server.asked)
    shown = ask("--partial").output
    count = "1 text" if len(numbers) == 1 else "4 texts"
    assert f"{count} without an answer are left out: 't0' (status 400" in shown
    rest = [word for k, word in enumerate(WORDS) if k not in numbers]
    np.testing.assert_allclose(logprobs(), expected(rest), atol=1e-12)
    assert len(server.asked) == 12 + len(numbers)


def test_one_order_refused_leaves_a_text_out(ask, server):
    server.script = {3: TOO_LONG}
    ask("--partial", "--permutations", "5", "--concurrency", "1")
    assert "t0" not in read_columns("out.csv").cells["item_id"]
    assert len(read_columns("out.csv")) == 11


def test_a_refused_text_does_not_cost_samples_one_by_one(ask, server):
    server.respond = refusing(server, (0,))
    ask("--samples", "4", "--partial")
    # The refused text is tried with one sample too; the others give four at once.
    assert [request.get("n") for request in server.asked] == [4, None, *[4] * 11]


def test_refusals_in_a_row_end_a_run_only_where_nothing_is_answered(ask, server):
    server.respond = lambda _: TOO_LONG
    assert "refuses to answer" in ask("--partial", status=2).output
    assert len(server.asked) == 10
    server.respond = refusing(server, range(1, 12))
    ask("--partial", "--concurrency", "1")
    assert len(server.asked) == 10 + 12
    assert list(read_columns("out.csv").cells["item_id"]) == ["t0"]


@pytest.mark.parametrize("lacking", [{"logprobs": False}, {"alone": True}])
def test_an_answer_without_log_probabilities_is_not_kept(ask, server, lacking):
    bad = 200, completion(4, **lacking), {}
    server.script = {k: bad for k in (2, 5, 6)}
    shown = ask("--concurrency", "1", status=1).output
    assert "3 of 12 questions got no answer: 't2' (the answer has no log-probabilities" in shown
    # What is known does not make a server without any pass.
    server.script, server.respond = {}, lambda _: bad
    assert "--samples 20" in ask(status=2).output
    assert len(server.asked) == 13
    server.respond = server.usual
    ask()
    assert len(server.asked) == 13 + 3
    np.testing.assert_allclose(logprobs(), expected(), atol=1e-12)


def test_a_refusal_in_words_does_not_show_that_there_are_log_probabilities(ask, server):
    server.respond = lambda _: (200, completion(4, logprobs=False), {})
    server.script = {0: (200, with_message({"content": None, "refusal": "I will not."}), {})}
    shown = ask("--concurrency", "1", status=2).output
    assert "sends no log-probabilities" in shown and len(server.asked) == 2


def test_samples_are_texts_whatever_else_is_sent(ask, server):
    def respond(request):
        stars = stars_of(request["messages"][-1]["content"])
        body = completion(1)
        body["choices"][0]["message"]["content"] = str(stars)
        return 200, body, {}

    server.respond = respond
    ask("--samples", "1")
    columns = read_columns("out.csv")
    counts = np.array([[float(c) for c in columns.cells[f"n_{k}"]] for k in range(1, 6)]).T
    assert (counts.argmax(axis=1) + 1).tolist() == [STARS[word] for word in WORDS]


def with_message(message):
    body = completion(4)
    body["choices"][0]["message"] = message
    return body


@pytest.mark.parametrize(
    "body",
    ["[" * 200_000, "[" * 900 + "]" * 900, with_message("3"), with_message({"content": [4]}), "3"],
    ids=lambda body: str(body)[:9],
)
@pytest.mark.parametrize("number", [0, 4])
def test_a_body_that_is_no_completion_is_asked_for_again(ask, server, body, number):
    server.script = {number: (200, body, {})}
    ask("--concurrency", "1")
    assert len(server.asked) == 13
    np.testing.assert_allclose(logprobs(), expected(), atol=1e-12)


@pytest.mark.parametrize("created", ["1e18", "Infinity", '"today"', "1760000000000"])
def test_a_date_that_cannot_be_read_is_none(ask, server, created):
    text = json.dumps(completion(4)).replace("1760000000", created)
    server.script = {k: (200, text, {}) for k in (0, 3)}
    ask("--concurrency", "1")
    assert len(server.asked) == 12


def test_answers_that_were_cut_off(ask, server):
    def respond(request):
        content = request["messages"][-1]["content"]
        body = completion(stars_of(content), logprobs=False)
        if "number 3 " in content or "number 5 " in content:
            said = None if "number 3 " in content else "Let us think of"
            body["choices"][0] |= {"message": {"content": said}, "finish_reason": "length"}
        if "number 7 " in content:
            body["choices"][0] |= {"message": {"content": "3\n\nFor"}, "finish_reason": "length"}
        return 200, body, {}

    server.respond = respond
    shown = ask("--samples", "1").output
    assert "2 answers ended before naming an option, for want of tokens: raise --max-tok" in shown
    # With more tokens they are other answers.
    ask("--samples", "1", "--max-tokens", "99")
    assert len(server.asked) == 24
    found = json.loads(ask("--samples", "1", "--json").stdout)
    assert found["cut"] == 2 and found["readings"] == 10 and found["requests"] == 0
    assert len(found["unread"]) == 2 and found["missing"] == {}


def test_readings_name_everybody_who_answered(ask, server):
    def respond(request):
        status, body, headers = server.usual(request)
        return status, body | {"model": f"tiny-{len(server.asked) % 2}"}, headers

    server.respond = respond
    ask("--permutations", "2", "--concurrency", "1")
    assert set(read_columns("out.csv").cells["reader_model"]) == {"tiny-1; tiny-0"}
