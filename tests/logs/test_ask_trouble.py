"""A server that misbehaves as servers do, runs that are interrupted, and where keys go."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from asked_texts import OPTIONS, WORDS, expected, logprobs, write_texts
from loopback import KEY, completion

from cordial_ppl.errors import InputError
from cordial_ppl.logs.ask.cache import Response, key_of, open_cache
from cordial_ppl.logs.ask.server import Server
from cordial_ppl.tables.formats import read_columns

TOO_LONG = 400, {"error": {"message": "the context is too long"}}


def of_message(message):
    return 200, {"choices": [{"message": message, "finish_reason": "stop"}]}


def impossible(score):
    """A completion with a log-probability that is none."""
    body = completion(3)
    body["choices"][0]["logprobs"]["content"][0]["top_logprobs"][0]["logprob"] = score
    return 200, body


def refusing(server, numbers, refusal=TOO_LONG):
    def respond(request):
        content = request["messages"][-1]["content"]
        return refusal if any(f"number {k} " in content for k in numbers) else server.usual(request)

    return respond


def test_trouble_passes(ask, server):
    server.script = {
        1: (429, {"error": {"message": "slow down"}}),
        2: (500, "oops"),
        3: (500, "[" * 200_000),
        4: (503, {"error": "busy"}),
        5: (408, ""),
    }
    ask("--concurrency", "3")
    np.testing.assert_allclose(logprobs(), expected(), atol=1e-12)
    assert len(server.asked) == 12 + 5


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ((401, {"error": {"message": f"bad key {KEY}"}}), "refuses the key in the environment"),
        ((403, {"error": "go away"}), "variable OPENAI_API_KEY (status 403: go away)"),
        ((404, {"error": {"message": "no such model"}}), "no chat completions for 'tiny' (status"),
        ((307, "", {"location": "http://127.0.0.1:1/"}), "no chat completions for 'tiny' (status"),
        ((429, {"error": {"message": "", "code": "insufficient_quota"}}), "no credit left"),
        ((400, {"error": {"message": "no logprobs here"}}), "--samples 20"),
        ((200, completion(3, logprobs=False)), "--samples 20"),
        ((200, completion(3, alone=True)), "--samples 20"),
    ],
)
@pytest.mark.parametrize("first", [0, 4])
def test_what_no_retry_helps_ends_the_run(ask, server, monkeypatch, told, words, first):
    monkeypatch.setattr("cordial_ppl.logs.ask.server.RETRIES", 0)
    if first and told[0] in (400, 403):
        pytest.skip("from a server that answers others it is about the text")
    server.script = {number: told for number in range(first, 99)}
    result = ask("--concurrency", "1", status=2)
    assert words in result.output and KEY not in result.output
    assert result.stderr.count("\n") == 1 and not Path("out.csv").exists()
    # Where log-probabilities may be what is refused, fewer are asked for before giving up.
    assert len(server.asked) == first + (2 if told[0] == 400 else 1)
    # The answers before are kept.
    server.script = {}
    ask()
    assert sum(server.answered.values()) == 12 + (told[0] == 200)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ((500, {"error": {"message": f"no {KEY} no"}}), "'t7' (status 500: no [the key] no)"),
        ((429, {"error": {"message": "slow"}}), "'t7' (status 429: slow; ask fewer questions at"),
        ("hang", "'t7' (no answer within 1 s in 2 attempts; ask fewer questions at once (--conc"),
        ((200, "{no json"), "'t7' (the answer is not a chat completion: '{no json')"),
        ((200, {"choices": ["?"]}), "not a chat completion"),
        (of_message({"content": [4]}), "not a chat completion"),
        (impossible(float("nan")), "not a chat completion"),
    ],
    ids=lambda told: str(told)[:20],
)
def test_failures_are_named_and_the_rest_is_kept(ask, server, monkeypatch, told, words):
    monkeypatch.setattr("cordial_ppl.logs.ask.server.RETRIES", 1)
    monkeypatch.setattr("cordial_ppl.logs.ask.server.TIMEOUT", 1.0 if told == "hang" else 300.0)
    server.respond = refusing(server, (7,), told)
    shown = ask(status=1).output
    assert "1 of 12 questions got no answer: 't7' (" in shown and words in shown
    assert "11 of 12 answers are in out.csv.cache: the same command resumes" in shown
    assert sorted(path.name for path in Path().iterdir()) == ["out.csv.cache", "texts.csv"]
    monkeypatch.setattr("cordial_ppl.logs.ask.server.TIMEOUT", 300.0)
    asked, server.respond = len(server.asked), server.usual
    ask()
    assert len(server.asked) == asked + 1
    np.testing.assert_allclose(logprobs(), expected(), atol=1e-12)


# Before the first answer, a status of 403 is about the key.
@pytest.mark.parametrize(
    ("refusal", "numbers"),
    [(TOO_LONG, (0, 1, 2, 7)), ((403, {"error": "flagged"}), (5,))],
)
def test_a_text_that_is_refused_is_left_out(ask, server, refusal, numbers):
    server.respond = refusing(server, numbers, refusal)
    shown = ask().output
    assert f"{len(numbers)} text" in shown and f"left out: 't{numbers[0]}' (status 4" in shown
    assert len(server.asked) == 12
    # None of the others was asked for less.
    assert all(request["top_logprobs"] == 20 for request in server.asked)
    rest = [word for k, word in enumerate(WORDS) if k not in numbers]
    np.testing.assert_allclose(logprobs(), expected(rest), atol=1e-12)
    found = json.loads(ask("--json").stdout)
    assert list(found["missing"]) == [f"t{k}" for k in numbers] and found["requests"] == 0


def test_one_refusal_changes_nothing_for_others(ask, server):
    server.respond = refusing(server, (0,))
    ask("--samples", "4")
    # The refused text is tried with one sample too; the others give four at once.
    assert [request.get("n") for request in server.asked] == [4, None, *[4] * 11]
    # A text that is refused in one order of the options is left out.
    server.respond, server.script = server.usual, {16: TOO_LONG}
    assert "1 text without an answer" in ask("--permutations", "5", "--concurrency", "1").output
    assert read_columns("out.csv").cells["item_id"][0] == "t1" and len(logprobs()) == 11


def test_a_server_that_answers_nothing_is_not_asked_for_ever(ask, server, monkeypatch):
    monkeypatch.setattr("cordial_ppl.logs.ask.server.RETRIES", 0)
    server.respond = lambda _: TOO_LONG
    assert "12 of 12 questions got no answer: 't0' (status 400" in ask(status=1).output
    assert len(server.asked) == 10
    # Refusals by a server that answers others end nothing.
    server.respond = refusing(server, range(1, 12))
    ask("--concurrency", "1")
    assert len(server.asked) == 10 + 12 and len(logprobs()) == 1
    write_texts(Path("texts.csv"), WORDS * 5)
    server.respond = lambda _: (502, "")
    shown = ask("--concurrency", "2", status=1).output
    assert "59 of 60 questions got no answer" in shown and "The others were not asked" in shown
    assert 10 <= len(server.asked) - 22 <= 12
    shown = ask("--server", "http://127.0.0.1:9/v1", "--question", "How?", status=1).output
    assert "(no connection to http://127.0.0.1:9/v1: " in shown and "more. The others" in shown


def test_an_answer_without_an_option_is_left_out(ask, server):
    mute = of_message({"role": "assistant", "content": None, "refusal": "I will not."})
    server.script = {0: mute, 5: mute}
    shown = ask("--concurrency", "1").output
    assert "2 answers without an option left out" in shown and len(logprobs()) == 10
    server.script = {13: of_message({"content": "Let us think of"})}
    shown = ask("--samples", "1", "--concurrency", "1").output
    assert "1 answer without an option" in shown and "raise --max-tokens" in shown


@pytest.mark.parametrize("written", [KEY, KEY.replace("-", "\\u002d")])
def test_a_key_is_written_nowhere(ask, server, written):
    def respond(request):
        body = server.usual(request)[1] | {"system_fingerprint": "KEY", "model": "tiny KEY"}
        return 200, json.dumps(body).replace("KEY", written)

    server.respond = respond
    assert KEY not in ask().output
    for path in Path().iterdir():
        assert KEY.encode() not in path.read_bytes(), path
    assert "tiny [the key]" in Path("out.csv").read_text()
    rows = sqlite3.connect("out.csv.cache").execute("SELECT body FROM responses").fetchall()
    names = {"choices", "model", "created", "usage"}
    assert len(rows) == 12 and all(set(json.loads(body)) == names for (body,) in rows)


OPENAI, OTHER = "https://api.openai.com/v1", "https://llm.example.org/v1"
KEYS = {
    OPENAI: True,
    OTHER: False,
    f"{OTHER} OPENAI_API_KEY": True,
    "https://openai.com.example.org/v1": False,
    "https://api.openai.com@example.org/v1": None,
    "http://llm.example.org/v1 OPENAI_API_KEY": None,
    "http://api.openai.com/v1": None,
    "http://localhost:8000/v1": True,
    "http://gpu.localhost/v1": True,
    "http://127.0.0.2:8000/v1": True,
    "http://127.0.0.1.example.org/v1": False,
    "http://[::1]:8000/v1": True,
}


@pytest.mark.parametrize(("server", "sent"), KEYS.items())
def test_a_key_goes_where_it_is_meant_to_go_and_nothing_else_goes(monkeypatch, server, sent):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "secret-org")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "secret-project")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Key: secret-header")
    if sent is None:
        with pytest.raises(InputError, match="is not sent to|with nothing before the host"):
            Server("tiny", *server.split())
    else:
        client = Server("tiny", *server.split()).client
        headers = str(client.default_headers | client.auth_headers)
        assert (KEY in headers) == sent and "secret" not in headers
        assert str(client.base_url).rstrip("/") == server.split()[0]


NUMERIC = socket.AI_NUMERICHOST
PROXIES = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", "127.1", "judge.test"])
@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "socks5://127.0.0.1:9"])
def test_no_proxy_hears_what_is_meant_for_this_machine(ask, server, monkeypatch, host, proxy):
    def resolve(name, *rest, **settings):
        named = name in ("judge.test", b"judge.test") and settings.get("flags") != NUMERIC
        return lookup("127.0.0.1" if named else name, *rest, **settings)

    lookup = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setenv("NO_PROXY", "")
    for name in PROXIES:
        monkeypatch.setenv(name, proxy)
    ask("--server", server.url.replace("127.0.0.1", host))
    # Who names a server may be anybody: the key goes to none that a name alone says is here.
    assert len(server.asked) == 12
    assert set(server.keys) == {None if host == "judge.test" else f"Bearer {KEY}"}


def test_a_proxy_that_cannot_be_used_is_named(ask, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "gopher://127.0.0.1:9")
    assert "HTTPS_PROXY" in ask("--server", "https://judge.test/v1", status=2).output


def test_a_key_that_was_not_sent(ask, server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"Authorization: Bearer {KEY}")
    server.respond = lambda _: (401, {"error": "who are you?"})
    shown = ask(status=2).output
    assert "needs a key: name its environment variable, --key-variable" in shown
    assert server.keys == [None]


TABLES = {
    "item_id,text\na,x good\nb,y good\na,z good\n": "'a' is in lines 2 and 4",
    "item_id,review\na,x good\n": "no column 'text'; found 'item_id', 'review'",
    "item_id,text\na,x good\nb,\n": "'text' is empty in line 3",
}
USAGE = {
    "--server localhost:8000": "must be like http://localhost:8000/v1",
    "--server http://localhost:abc/v1": "must be like http://localhost:8000/v1",
    "--server http://me:secret@localhost/v1": "keys come from the environment",
    "--key-variable NO_SUCH": "the environment variable NO_SUCH does not hold a key",
    "--key-variable WORDS": "the environment variable WORDS does not hold a key",
    "--permutations 121": "5 options have 120 orders",
    "--local --samples 3": "--samples: for servers only, not with --local",
    "--demonstrations texts.csv": "no column 'label'",
    "--prompt nowhere.txt": "cannot read nowhere.txt",
    "--prompt prompt.txt --permutations 2": "the prompt has no {options}",
    "--spell 9=nine": "a spelling must stand for one of 1, 2, 3, 4, 5; found 'nine' for '9'",
}


@pytest.mark.parametrize(
    ("table", "arguments", "words"),
    [
        *((table, "", words) for table, words in TABLES.items()),
        *((None, arguments, words) for arguments, words in USAGE.items()),
    ],
)
def test_wrong_usage(ask, server, monkeypatch, table, arguments, words):
    monkeypatch.setenv("WORDS", "two words")
    Path("prompt.txt").write_text("How good is this? {text}")
    if table:
        Path("texts.csv").write_text(table)
    shown = ask(*arguments.split(), status=2).output
    assert words in shown and "secret" not in shown and not server.asked
    assert not Path("out.csv.cache").exists()


def test_what_is_missing_on_this_machine(ask, server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert "needs a key in the environment variable OPENAI_API_KEY" in ask(status=2).output
    for package, extra, *words in (
        ("openai", "server", "--server", server.url),
        ("torch", "local"),
    ):
        monkeypatch.setitem(sys.modules, package, None)
        shown = ask(*(words or ["--local"]), status=2).output
        assert f"needs {package}: pip install -e '.[{extra}]'" in shown
    assert not server.asked and [path.name for path in Path().iterdir()] == ["texts.csv"]


def test_a_cache_keeps_answers(tmp_path):
    key = key_of("m", [{"role": "user", "content": "half a pair: \ud800"}], {"temperature": 0.0})
    others = [("n", [], {}), ("m", [], {}), ("m", [], {"temperature": 1.0})]
    assert len({key, *(key_of(*parts) for parts in others)}) == 4
    responses = [Response({"temperature": 0.0}, {"choices": [word]}, "2025-12-31") for word in "éa"]
    path = tmp_path / "c"
    with open_cache(path) as cache:
        assert cache.get(key) == []
        for response in responses:
            cache.put(key, response)
    with open_cache(path) as later:
        assert later.get(key) == responses and len(later) == 2
    path.write_text("item_id,text\n" * 100)
    with pytest.raises(InputError, match="cannot be used as a cache"), open_cache(path):
        pass


@pytest.fixture
def start(server, tmp_path):
    """Ask our server in another process; from the seventh request on nothing is answered."""
    write_texts(tmp_path / "texts.csv")
    server.hold_from = 6
    program = "from cordial_ppl.cli import main; main()"
    command = [sys.executable, "-c", program, "ask", "texts.csv", "-o", "out.csv", *OPTIONS]
    command += ["--server", server.url, "--concurrency", "2"]
    root = str(Path(__file__).parents[2])
    environment = os.environ | {"PYTHONPATH": root, "NO_PROXY": "127.0.0.1", "OPENAI_API_KEY": KEY}

    def start(*, until_held=True):
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
        )
        if until_held:
            assert all(server.held.acquire(timeout=120) for _ in range(2))
        return process

    return start


def test_after_a_kill_no_request_is_repeated(server, tmp_path, start):
    running = start()
    # Another run would pay for the same answers.
    second = start(until_held=False)
    _, shown = second.communicate(timeout=120)
    assert (
        second.returncode == 2
        and "out.csv.cache cannot be used as a cache of answers: another run uses it" in shown
    )
    running.kill()
    running.communicate()
    assert len(server.asked) == 8 and not (tmp_path / "out.csv").exists()
    server.release.set()
    server.hold_from = float("inf")
    done = start(until_held=False)
    _, shown = done.communicate(timeout=120)
    assert done.returncode == 0, shown
    assert len(server.answered) == 12 and set(server.answered.values()) == {1}
    np.testing.assert_allclose(logprobs(tmp_path / "out.csv"), expected(), atol=1e-12)


@pytest.mark.nightly
def test_ctrl_c_says_how_to_go_on(start):
    running = start()
    running.send_signal(signal.SIGINT)
    _, shown = running.communicate(timeout=120)
    assert running.returncode == 130 and "Traceback" not in shown
    assert "stopped: 6 of 12 answers are in out.csv.cache; the same command resumes" in shown
