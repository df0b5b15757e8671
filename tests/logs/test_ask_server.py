"""Readings asked of a server on this machine."""

import threading
from pathlib import Path

import numpy as np
import pytest
from asked_texts import WORDS, expected, logprobs, write_texts
from loopback import KEY, STARS, completion, stars_of

from cordial_ppl.tables import read_readings
from cordial_ppl.tables.formats import read_columns


def column(name):
    return list(read_columns("out.csv").cells[name])


def counts():
    return np.array([[int(float(n)) for n in column(f"n_{k}")] for k in range(1, 6)]).T


def test_readings_are_what_the_model_says_and_in_the_texts_order(ask, server):
    shown = ask().output
    assert column("item_id") == [f"t{i}" for i in range(12)]
    np.testing.assert_allclose(logprobs(), expected(), atol=1e-12)
    assert set(column("reader")) == {"tiny"} and set(column("reader_model")) == {"tiny-2025"}
    assert set(column("reader_decoding")) == {"temperature 0, max_tokens 16, top_logprobs 20"}
    assert len(set(column("reader_prompt"))) == 1
    assert read_readings("out.csv").scale.options == ("1", "2", "3", "4", "5")
    assert len(server.asked) == 12 and set(server.keys) == {f"Bearer {KEY}"}
    assert "12 of 12 answers, 12 requests, 480 + 12 tokens" in shown


def test_what_was_answered_is_not_asked_again(ask, server):
    ask()
    first = Path("out.csv").read_text()
    Path("out.csv").unlink()
    ask()
    assert len(server.asked) == 12 and Path("out.csv").read_text() == first
    ask("--question", "How good is it?")
    assert len(server.asked) == 24


FEWER = {"top_logprobs must be at most 5": lambda asked: asked["top_logprobs"] > 5}
OTHERS = {
    "use 'max_completion_tokens' instead": lambda asked: "max_tokens" in asked,
    "'temperature' does not support 1.0": lambda asked: "temperature" in asked,
}


@pytest.mark.parametrize(
    ("refused", "arguments", "decoding"),
    [
        (FEWER, [], "temperature 0, max_tokens 16, top_logprobs 5"),
        (OTHERS, ["--samples", "3"], "max_completion_tokens 16, samples 3"),
    ],
)
def test_less_is_asked_of_a_server_that_understands_less(ask, server, refused, arguments, decoding):
    def respond(request):
        words = [message for message, is_refused in refused.items() if is_refused(request)]
        return (400, {"error": {"message": words[0]}}) if words else server.usual(request)

    server.respond = respond
    ask(*arguments)
    assert len(server.asked) == 12 + len(refused) and set(column("reader_decoding")) == {decoding}
    ask(*arguments)
    assert len(server.asked) == 12 + len(refused)


@pytest.mark.parametrize("kind", ["several", "ignored", "refused"])
def test_samples_are_counted(ask, server, kind):
    turns = {}

    def respond(request):
        if kind == "refused" and request.get("n", 1) > 1:
            return 400, {"error": {"message": "n must be 1"}}
        content = request["messages"][-1]["content"]
        stars = stars_of(content)
        choices = []
        for _ in range(request.get("n", 1) if kind == "several" else 1):
            turn = turns[content] = turns.get(content, -1) + 1
            # Every third answer is a star away.
            said = stars if turn % 3 else (stars + 1 if stars < 5 else 4)
            choices += completion(said, 1, logprobs=False)["choices"]
        return 200, completion(stars, logprobs=False) | {"choices": choices}

    server.respond = respond
    ask("--samples", "6")
    for row, word in zip(counts(), WORDS, strict=True):
        stars = STARS[word]
        assert row[stars - 1] == 4 and row[stars if stars < 5 else 3] == 2
    assert len(server.asked) == {"several": 12, "ignored": 72, "refused": 73}[kind]
    # More samples of the same are added to those.
    ask("--samples", "8")
    assert len(server.asked) == {"several": 24, "ignored": 96, "refused": 98}[kind]
    assert counts().sum(axis=1).tolist() == [8] * 12


def test_requests_at_once_are_bounded(ask, server):
    # No request is answered before there are three; there are never four.
    together = threading.Barrier(3, timeout=60)

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
        body: dict = completion(stars) | {"model": f"tiny-{len(server.asked) % 2}"}
        entry = {"logprob": top[0]["logprob"], "top_logprobs": top}
        body["choices"][0]["logprobs"]["content"][0] |= entry
        return 200, body

    server.respond = respond
    stars = np.array([STARS[word] for word in WORDS])
    truth = -0.7 * np.abs(np.arange(1, 6) - stars[:, None])
    truth -= truth.mean(axis=1, keepdims=True)
    ask()
    alone = logprobs()
    assert np.abs(alone - alone.mean(axis=1, keepdims=True) - truth).max() > 0.5
    ask("--permutations", "5", "--concurrency", "1")
    mean = logprobs()
    np.testing.assert_allclose(mean - mean.mean(axis=1, keepdims=True), truth, atol=1e-12)
    # Nothing is asked twice, even if the order of before is one of the five.
    asked = [request["messages"][-1]["content"] for request in server.asked]
    assert len(asked) == len(set(asked)) and len(asked) in (60, 72)
    assert set(column("reader_model")) <= {"tiny-1; tiny-0", "tiny-0; tiny-1"}


def test_other_columns_go_along(ask):
    rows = ["item_id,text,user,length,p_1,label,rating"]
    rows += [f"t{i},so {word},u{i % 2},{i}.5,0.5,3,4" for i, word in enumerate(WORDS)]
    Path("texts.csv").write_text("\n".join(rows))
    shown = ask().output
    table = read_readings("out.csv")
    assert table.extras["user"][:3] == ["u0", "u1", "u0"]
    np.testing.assert_allclose(table.covariates(["length"])["length"], np.arange(12) + 0.5)
    written = set(read_columns("out.csv").cells)
    assert {"label", "user"} < written and not {"p_1", "rating", "text"} & written
    assert "taken for readings are not passed on: p_1, rating" in shown
