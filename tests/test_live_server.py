"""Readings asked of a server: of ours on this machine."""

import threading
from pathlib import Path

import numpy as np
import pytest
from asked_texts import WORDS, expected, logprobs, write_texts
from loopback import KEY, STARS, completion, stars_of

from cordial_ppl.tables import read_readings
from cordial_ppl.tables.files import read_columns


def test_readings_are_what_the_model_says_and_in_the_texts_order(ask, server):
    shown = ask("--price", "1,10").output
    columns = read_columns("out.csv")
    assert list(columns.cells["item_id"]) == [f"t{i}" for i in range(12)]
    np.testing.assert_allclose(logprobs(), expected(), atol=1e-12)
    assert set(columns.cells["reader"]) == {"tiny"}
    assert set(columns.cells["reader_model"]) == {"tiny-2025"}
    assert set(columns.cells["reader_decoding"]) == {
        "temperature 0, max_tokens 16, top_logprobs 20"
    }
    assert len(set(columns.cells["reader_prompt"])) == 1
    assert read_readings("out.csv").scale.options == ("1", "2", "3", "4", "5")
    assert len(server.asked) == 12
    assert set(server.keys) == {f"Bearer {KEY}"}
    # 12 answers of 40 tokens read and 1 written, at 1 and 10 dollars a million.
    assert "480 + 12 tokens, $0.0006" in shown


def test_what_was_answered_is_not_asked_again(ask, server):
    ask()
    first = Path("out.csv").read_text()
    Path("out.csv").unlink()
    ask()
    assert len(server.asked) == 12
    assert Path("out.csv").read_text() == first
    ask("--question", "How good is it?")
    assert len(server.asked) == 24


def test_fewer_alternatives_where_a_server_allows_fewer(ask, server):
    def respond(request):
        if request["top_logprobs"] > 5:
            return 400, {"error": {"message": "top_logprobs must be at most 5"}}, {}
        return server.usual(request)

    server.respond = respond
    ask()
    assert [request["top_logprobs"] for request in server.asked] == [20, *[5] * 12]
    assert set(read_columns("out.csv").cells["reader_decoding"]) == {
        "temperature 0, max_tokens 16, top_logprobs 5"
    }
    ask()
    assert len(server.asked) == 13


def test_parameters_of_readers_that_reason(ask, server):
    def respond(request):
        if "max_tokens" in request:
            return 400, {"error": {"message": "use 'max_completion_tokens' instead"}}, {}
        if "temperature" in request:
            return 400, {"error": {"message": "'temperature' does not support 1.0"}}, {}
        return server.usual(request)

    server.respond = respond
    ask("--samples", "3")
    assert len(server.asked) == 2 + 12
    assert server.asked[-1]["max_completion_tokens"] == 16
    decoding = set(read_columns("out.csv").cells["reader_decoding"])
    assert decoding == {"max_completion_tokens 16, samples 3"}


@pytest.mark.parametrize("kind", ["several", "ignored", "refused"])
def test_samples_are_counted(ask, server, kind):
    turns = {}

    def respond(request):
        if kind == "refused" and request.get("n", 1) > 1:
            return 400, {"error": {"message": "n must be 1"}}, {}
        content = request["messages"][-1]["content"]
        stars = stars_of(content)
        number = request.get("n", 1) if kind == "several" else 1
        choices = []
        for _ in range(number):
            turn = turns[content] = turns.get(content, -1) + 1
            # Every third answer is a star away.
            own = stars if turn % 3 else (stars + 1 if stars < 5 else 4)
            choices += completion(own, 1, logprobs=False)["choices"]
        return 200, completion(stars, logprobs=False) | {"choices": choices}, {}

    server.respond = respond
    ask("--samples", "6")
    columns = read_columns("out.csv")
    counts = np.array([[int(float(c)) for c in columns.cells[f"n_{k}"]] for k in range(1, 6)]).T
    for row, word in zip(counts, WORDS, strict=True):
        stars = STARS[word]
        assert row[stars - 1] == 4
        assert row[stars if stars < 5 else 3] == 2
    assert len(server.asked) == {"several": 12, "ignored": 72, "refused": 73}[kind]
    # More of them go on from those.
    ask("--samples", "8")
    assert len(server.asked) == {"several": 24, "ignored": 96, "refused": 98}[kind]


def test_requests_at_once_are_bounded(ask, server):
    # Nobody is answered before three are there; never are four.
    together = threading.Barrier(3, timeout=5)

    def respond(request):
        if len(server.asked) > 1:
            together.wait()
        return server.usual(request)

    server.respond = respond
    write_texts(Path("texts.csv"), WORDS[:10])
    ask("--concurrency", "3")
    assert server.most_at_once == 3


def test_orders_of_options_cancel_what_places_add(ask, server):
    bias = np.array([0.9, 0.2, 0.0, -0.3, 1.1])

    def respond(request):
        content = request["messages"][-1]["content"]
        listed = content.split("one of: ")[1].split(".")[0].split(", ")
        stars = stars_of(content)
        logits = {name: bias[i] - 0.7 * abs(int(name) - stars) for i, name in enumerate(listed)}
        total = np.logaddexp.reduce(list(logits.values()))
        top = [{"token": t, "logprob": float(v - total)} for t, v in logits.items()]
        body = completion(stars)
        body["choices"][0]["logprobs"]["content"][0] |= {
            "logprob": top[0]["logprob"],
            "top_logprobs": top,
        }
        return 200, body, {}

    server.respond = respond
    stars = np.array([STARS[word] for word in WORDS])
    truth = -0.7 * np.abs(np.arange(1, 6) - stars[:, None])
    truth -= truth.mean(axis=1, keepdims=True)
    ask()
    alone = logprobs()
    assert np.abs(alone - alone.mean(axis=1, keepdims=True) - truth).max() > 0.5
    ask("--permutations", "5")
    mean = logprobs()
    np.testing.assert_allclose(mean - mean.mean(axis=1, keepdims=True), truth, atol=1e-12)
    assert len(server.asked) == 12 + 60


def test_other_columns_go_along(ask):
    rows = ["item_id,text,user,length,p_1,label,rating"]
    rows += [f"t{i},so {word},u{i % 2},{i}.5,0.5,3,4" for i, word in enumerate(WORDS)]
    Path("texts.csv").write_text("\n".join(rows))
    shown = ask().output
    table = read_readings("out.csv")
    assert table.extras["user"][:3] == ["u0", "u1", "u0"]
    np.testing.assert_allclose(table.covariate("length"), np.arange(12) + 0.5)
    written = set(read_columns("out.csv").cells)
    assert {"label", "user"} < written and not {"p_1", "rating", "text"} & written
    assert "taken for readings are not passed on: p_1, rating" in shown
