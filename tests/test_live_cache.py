"""The cache: what it keeps of answers, and files that are none."""

import json
import sqlite3

import numpy as np
import pytest
from asked_texts import expected, logprobs
from loopback import KEY, completion

from cordial_ppl.errors import InputError
from cordial_ppl.live.cache import Answer, key_of, open_cache


def test_what_is_kept_of_an_answer(ask, server):
    def respond(request):
        status, body, headers = server.usual(request)
        return status, body | {"prompt_logprobs": "It is", "metadata": KEY}, headers

    server.respond = respond
    ask()
    rows = sqlite3.connect("out.csv.cache").execute("SELECT body FROM answers").fetchall()
    names = {"choices", "model", "created", "usage"}
    assert len(rows) == 12 and all(set(json.loads(body)) == names for (body,) in rows)


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff\xfe",
        b"3",
        b'{"choices": []}',
        # As it was kept before answers were checked.
        json.dumps(completion(4, logprobs=False)).encode(),
    ],
)
def test_a_damaged_answer_is_asked_for_again(ask, server, body):
    ask()
    with sqlite3.connect("out.csv.cache") as file:
        file.execute(
            "UPDATE answers SET body = CAST(? AS TEXT) WHERE key = (SELECT min(key) FROM answers)",
            [body],
        )
    file.close()
    ask()
    assert len(server.asked) == 13
    ask()
    assert len(server.asked) == 13
    np.testing.assert_allclose(logprobs(), expected(), atol=1e-12)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("PRAGMA user_version = 2", "is a cache of another version"),
        ("PRAGMA application_id = 7", "is a database of another program"),
    ],
)
def test_a_file_of_others_is_no_cache(ask, server, statement, words):
    ask()
    file = sqlite3.connect("out.csv.cache")
    file.execute(statement)
    file.commit()
    file.close()
    assert words in ask(status=2).output
    assert len(server.asked) == 12


def test_a_cache_keeps_what_was_answered(tmp_path):
    key = key_of("m", [{"role": "user", "content": "half a pair: \ud800"}], {"temperature": 0.0})
    answer = Answer({"temperature": 0.0}, {"choices": [{"text": "vié"}]}, "2025-12-31")
    with open_cache(tmp_path / "cache") as cache:
        assert cache.get(key) is None
        cache.put(key, answer)
        # Two runs at once would pay for the same answers.
        with (
            pytest.raises(InputError, match="another run uses the cache"),
            open_cache(tmp_path / "cache"),
        ):
            pass
    with open_cache(tmp_path / "cache") as later:
        assert later.get(key) == answer and len(later) == 1
    others = [("n", [], {}), ("m", [], {}), ("m", [], {"temperature": 1.0}), ("m", [], {}, 1)]
    assert len({key, *(key_of(*own) for own in others)}) == 5
    (tmp_path / "text").write_text("item_id,text\n" * 100)
    with (
        pytest.raises(InputError, match="cannot be used as a cache"),
        open_cache(tmp_path / "text"),
    ):
        pass
