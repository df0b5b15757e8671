"""What `cordial ask` refuses, and where keys go."""

import sys
from pathlib import Path

import pytest
from loopback import KEY


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
