"""What `cordial ask` refuses, and where keys go."""

import json
import sys
from pathlib import Path

import pytest
from asked_texts import OPTIONS
from loopback import KEY

from cordial_ppl.errors import InputError


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


def test_a_key_is_hidden_however_json_writes_it(ask, server):
    escaped = KEY.replace("-", "\\u002D")

    def respond(request):
        status, body, headers = server.usual(request)
        return (
            status,
            json.dumps(body | {"model": "tiny THE-KEY"}).replace("THE-KEY", escaped),
            headers,
        )

    server.respond = respond
    ask()
    for path in Path().iterdir():
        assert KEY.encode() not in path.read_bytes(), path
    assert "tiny [the key]" in Path("out.csv").read_text()


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
        (
            ("--local", "--timeout", "1", "--retries", "0", "--max-tokens", "3"),
            "--max-tokens, --timeout, --retries do nothing with --local",
        ),
        (("--batch", "2"), "--batch does nothing without --local"),
        (("--key-variable", "NO_SUCH"), "the environment variable NO_SUCH holds no key"),
        (("--server", "http://[::1/v1"), "must be like http://localhost:8000/v1"),
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


OPENAI = "https://api.openai.com/v1"
OTHER = "https://llm.example.org/v1"


@pytest.mark.parametrize(
    ("url", "variable", "sent"),
    [
        (OPENAI, None, True),
        (OTHER, None, False),
        (OTHER, "OPENAI_API_KEY", True),
        ("https://openai.com.example.org/v1", None, False),
        ("https://api.openai.com@example.org/v1", None, None),
        ("http://llm.example.org/v1", None, False),
        ("http://llm.example.org/v1", "OPENAI_API_KEY", None),
        ("http://api.openai.com/v1", None, None),
        ("http://localhost:8000/v1", None, True),
        ("http://127.0.0.2:8000/v1", None, True),
        ("http://[::1]:8000/v1", None, True),
        ("http://10.0.0.1:8000/v1", None, False),
        ("http://10.0.0.1:8000/v1", "OPENAI_API_KEY", None),
    ],
)
@pytest.mark.parametrize("given", ["option", "environment"])
def test_a_key_goes_where_it_is_meant_to_go(monkeypatch, url, variable, sent, given):
    from cordial_ppl.cli import asking
    from cordial_ppl.live.decoding import Decoding
    from cordial_ppl.live.server import Server

    keys = []

    class Recorded(Server):
        def __init__(self, url, model, key, **others):
            super().__init__(url, model, key, **others)
            keys.append(key)

    monkeypatch.setattr("cordial_ppl.live.server.Server", Recorded)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", url)

    def reach():
        asking.reach_server(
            url if given == "option" else None,
            "tiny",
            variable,
            decoding=Decoding(),
            concurrency=1,
            timeout=1.0,
            retries=0,
            seed=0,
        )

    if sent is None:
        with pytest.raises(InputError, match="is not sent to|must have nothing before the host"):
            reach()
    else:
        reach()
        assert keys == [KEY if sent else None]


def test_a_server_that_wants_a_key_that_was_not_sent(ask, server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    server.respond = lambda _: (401, {"error": "who are you?"}, {})
    shown = ask(status=2).output
    assert "none was sent: name the environment variable that holds it, --key-variable" in shown


def test_read_with_a_model_is_ask(ask, cordial, server):
    ask()
    cordial("read", "texts.csv", "-o", "read.csv", "--cache", "out.csv.cache", *OPTIONS)
    assert len(server.asked) == 12
    assert Path("read.csv").read_text() == Path("out.csv").read_text()
    Path("log.csv").write_text("item_id,score\na,4\n")
    words = ("-o", "log_out.csv", "--options", "1,2,3,4,5", "--after")
    # What another option is given is no model.
    assert "none of its 1 answers" in cordial("read", "log.csv", *words, "--model", status=2).output
    assert len(server.asked) == 12


def test_orders_must_show(ask, server):
    Path("prompt.txt").write_text("How good is this? {text}")
    shown = ask("--prompt", "prompt.txt", "--permutations", "2", status=2).output
    assert "the prompt has no {options}" in shown and not server.asked
