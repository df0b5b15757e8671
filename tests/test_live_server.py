"""Readings asked of a server: of ours, which misbehaves as servers do."""

import datetime
import functools
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from loopback import KEY, STARS, completion, serving, stars_of

from cordial_ppl.live import patience
from cordial_ppl.live.server import Server
from cordial_ppl.tables import read_readings
from cordial_ppl.tables.files import read_columns

WORDS = [list(STARS)[k] for k in (3, 0, 4, 2, 1, 1, 3, 4, 0, 2, 3, 4)]
OPTIONS = ("--model", "tiny", "--options", "1,2,3,4,5")


@pytest.fixture
def server():
    with serving() as loopback:
        yield loopback


@pytest.fixture
def ask(cordial, server, monkeypatch, tmp_path):
    """Ask our server about twelve texts."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert Server  # and with it the annotations, which name the real one
    impatient = functools.partial(patience.Patience, first=0.01)
    monkeypatch.setattr(patience, "Patience", impatient)
    write_texts(tmp_path / "texts.csv")

    def run(*arguments, status=0):
        return cordial("read", "texts.csv", "-o", "out.csv", *OPTIONS, *arguments, status=status)

    return run


def write_texts(path, words=WORDS):
    rows = [f"t{i},It is number {i} and {word}.\n" for i, word in enumerate(words)]
    path.write_text("item_id,text\n" + "".join(rows))


def expected(words=WORDS):
    weights = np.array([[0.5 ** abs(k - STARS[word]) for k in range(1, 6)] for word in words])
    return np.log(weights / weights.sum(axis=1, keepdims=True))


def logprobs(path="out.csv"):
    columns = read_columns(path)
    return np.array([[float(c) for c in columns.cells[f"logprob_{k}"]] for k in range(1, 6)]).T


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


def test_trouble_passes(ask, server):
    server.script = {
        1: (429, {"error": {"message": "slow down"}}, {"retry-after": "0.05"}),
        2: (500, "oops", {}),
        3: "garbage",
        4: "hang",
        6: (200, {"choices": []}, {}),
        7: (200, {"choices": ["?"]}, {}),
        9: (503, {"error": "busy"}, {"retry-after": "soon"}),
    }
    ask("--timeout", "0.5", "--concurrency", "3")
    np.testing.assert_allclose(logprobs(), expected(), atol=1e-12)
    # A machine that is busy may let more than one request hang.
    assert len(server.asked) >= 12 + 7


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ((401, {"error": {"message": f"bad key {KEY}"}}, {}), "OPENAI_API_KEY is refused"),
        ((404, {"error": {"message": "no such model"}}, {}), "no chat completions of 'tiny'"),
        ((307, "", {"location": "http://127.0.0.1:1/"}), "no chat completions of 'tiny'"),
        ((429, {"error": {"message": "pay", "code": "insufficient_quota"}}, {}), "to be paid"),
        ((400, {"error": {"message": "no logprobs here"}}, {}), "--samples 20"),
        ((200, completion(3, logprobs=False), {}), "--samples 20"),
        ((200, completion(3, alone=True), {}), "--samples 20"),
    ],
)
def test_what_no_patience_helps_stops_at_once(ask, server, told, words):
    server.respond = lambda _: told
    shown = ask(status=2).output
    assert words in shown
    assert KEY not in shown
    # Where log-probabilities may be what is refused, fewer are asked for before giving up.
    assert len(server.asked) == (2 if told[0] == 400 else 1)
    assert not Path("out.csv").exists()


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


def test_failures_are_named_and_the_rest_is_kept(ask, server):
    broken = True

    def respond(request):
        if broken and "number 7 " in request["messages"][-1]["content"]:
            return 500, {"error": {"message": f"no {KEY} no"}}, {}
        return server.usual(request)

    server.respond = respond
    shown = ask("--retries", "2", status=1).output
    assert "1 of 12 questions got no answer: 't7' (status 500: no [the key] no (tried 3" in shown
    assert "out.csv.cache" in shown
    assert sorted(path.name for path in Path().iterdir()) == ["out.csv.cache", "texts.csv"]
    assert len(server.asked) == 11 + 3
    broken = False
    ask()
    assert len(server.asked) == 11 + 3 + 1
    np.testing.assert_allclose(logprobs(), expected(), atol=1e-12)


def test_a_request_that_is_refused_is_not_asked_again(ask, server):
    server.script = {3: (400, {"error": {"message": "the context is too long"}}, {})}
    shown = ask("--concurrency", "1", status=1).output
    assert "'t3' (status 400: the context is too long)" in shown
    assert len(server.asked) == 12


def test_a_server_that_is_gone_is_not_asked_for_ever(ask, server, tmp_path):
    write_texts(tmp_path / "texts.csv", WORDS * 5)
    server.script = {i: (502, "", {}) for i in range(1, 99)}
    shown = ask("--retries", "0", "--concurrency", "2", status=1).output
    assert "59 of 60 questions got no answer" in shown
    assert "The others were not asked" in shown
    assert 11 <= len(server.asked) <= 13


def test_a_refusal_is_left_out(ask, server):
    mute = completion(3, logprobs=False)
    mute["choices"][0]["message"] = {"role": "assistant", "content": None, "refusal": "I will not."}
    server.script = {0: (200, mute, {}), 5: (200, mute, {})}
    shown = ask("--concurrency", "1").output
    assert "2 answers that name no option are left out" in shown
    assert len(read_columns("out.csv")) == 10


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


def test_a_key_is_written_nowhere(ask, server):
    def respond(request):
        status, body, headers = server.usual(request)
        return status, body | {"system_fingerprint": KEY, "model": f"tiny {KEY}"}, headers

    server.respond = respond
    shown = ask("--explain", "1").output
    assert KEY not in shown
    for path in Path().iterdir():
        assert KEY.encode() not in path.read_bytes(), path
    assert "tiny [the key]" in Path("out.csv").read_text()


def test_after_a_kill_no_request_is_repeated(server, tmp_path):
    write_texts(tmp_path / "texts.csv")
    program = "from cordial_ppl.cli import main; main()"
    command = [sys.executable, "-c", program, "ask", "texts.csv", "-o", "out.csv", *OPTIONS]
    command += ["--server", server.url, "--concurrency", "2"]
    root = str(Path(__file__).parent.parent)
    inherited = {**os.environ, "PYTHONPATH": root, "NO_PROXY": "127.0.0.1"}
    environment = inherited | {"OPENAI_API_KEY": KEY}
    # Six are answered; when two more wait for their answers, all six are kept.
    server.hold_from = 6
    running = subprocess.Popen(command, cwd=tmp_path, env=environment)
    try:
        assert server.held.acquire(timeout=30)
        assert server.held.acquire(timeout=30)
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
    assert not (tmp_path / "out.csv").exists()
    server.release.set()
    server.hold_from = None
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(server.answered) == 12
    assert set(server.answered.values()) == {1}
    np.testing.assert_allclose(logprobs(tmp_path / "out.csv"), expected(), atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--server", "localhost:8000"), "must be like http://localhost:8000/v1"),
        (("--server", "http://me:secret@localhost/v1"), "keys come from the environment"),
        (("--server", "http://localhost/v1?key=secret"), "keys come from the environment"),
        (("--price", "cheap"), "--price must be IN,OUT"),
        (("--cache", "out.csv"), "is where the readings go"),
        (("--cache", "texts.csv"), "cannot be used as a cache"),
        (("--permutations", "121"), "5 options have 120 orders"),
        (("--local", "--samples", "3"), "--samples does nothing with --local"),
        (("--demonstrations", "texts.csv"), "no column 'label'"),
        (("--prompt", "nowhere.txt"), "cannot read nowhere.txt"),
    ],
)
def test_wrong_usage(ask, server, arguments, words):
    shown = ask(*arguments, status=2).output
    assert words in shown
    assert "secret" not in shown
    assert not server.asked


def test_wrong_tables_and_keys(ask, server, monkeypatch):
    Path("texts.csv").write_text("item_id,text\na,x good\nb,y good\na,z good\n")
    assert "'a' is in lines 2 and 4" in ask(status=2).output
    Path("texts.csv").write_text("item_id,review\na,x good\n")
    assert "needs the column 'text'; found 'item_id', 'review'" in ask(status=2).output
    Path("texts.csv").write_text("item_id,text\na,x good\nb,\n")
    assert "'text' is empty in line 3" in ask(status=2).output
    Path("texts.csv").write_text("item_id,text\na,x good\n")
    monkeypatch.setenv("OPENAI_API_KEY", "two words")
    assert "OPENAI_API_KEY holds something that is no key" in ask(status=2).output
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert "needs a key in the environment variable" in ask(status=2).output
    monkeypatch.setitem(sys.modules, "httpx", None)
    shown = ask("--server", server.url, status=2).output
    assert "pip install 'cordial-ppl[server]'" in shown
    assert not server.asked
    assert [path.name for path in Path().iterdir()] == ["texts.csv"]
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "pip install 'cordial-ppl[local]'" in ask("--local", status=2).output


def test_patience():
    rng = random.Random(0)
    usual = patience.Patience(retries=3, first=1.0, longest=3.0, asked=60.0)
    waits = [[usual.wait(retry, None, rng) or 0.0 for _ in range(200)] for retry in range(3)]
    for found, most in zip(waits, (1.0, 2.0, 3.0), strict=True):
        assert 0.9 * most < max(found) <= most and min(found) < 0.1 * most
    assert usual.wait(3, None, rng) is None
    assert usual.wait(0, 61.0, rng) is None
    assert 7.0 <= (usual.wait(0, 7.0, rng) or 0.0) <= 7.1
    now = datetime.datetime(2025, 1, 1, 12, tzinfo=datetime.UTC)
    date = "Wed, 01 Jan 2025 12:00:30 GMT"
    headers = ["2.5", date, None, "soon", "nan", "-1", "Wed, 01 Jan 2025 11:00:00 GMT"]
    found = [patience.seconds_after(header, now) for header in headers]
    assert found == [2.5, 30.0, None, None, None, None, None]


def test_other_columns_go_along(ask):
    rows = ["item_id,text,user,length,p_1,label"]
    rows += [f"t{i},so {word},u{i % 2},{i}.5,0.5,3" for i, word in enumerate(WORDS)]
    Path("texts.csv").write_text("\n".join(rows))
    ask()
    table = read_readings("out.csv")
    assert table.extras["user"][:3] == ["u0", "u1", "u0"]
    np.testing.assert_allclose(table.covariate("length"), np.arange(12) + 0.5)
    assert "p_1" not in table.extras and "text" not in table.extras


def test_nobody_listens(ask):
    shown = ask("--server", "http://127.0.0.1:9/v1", "--retries", "1", status=1).output
    assert "no connection to http://127.0.0.1:9/v1" in shown
    assert "12 of 12 questions got no answer" in shown
