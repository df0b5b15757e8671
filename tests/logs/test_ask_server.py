"""Readings asked of a server on this machine, which may misbehave; and where keys go."""

import json
import os
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from asked_texts import OPTIONS, WORDS, expected, logprobs, write_texts
from loopback import KEY, STARS, completion, content_of, stars_of

from cordial_ppl.errors import InputError
from cordial_ppl.logs.ask.chat import Chat
from cordial_ppl.tables import read_columns, read_readings

TOO_LONG = 400, {"error": {"message": "the context is too long"}}
ANSWERS = Path("out.csv.answers.jsonl")


def column(name):
    return list(read_columns("out.csv").cells[name])


def counts():
    return np.array([[int(float(n)) for n in column(f"n_{k}")] for k in range(1, 6)]).T


def of_message(message):
    return 200, {"choices": [{"message": message, "finish_reason": "stop"}]}


def refusing(server, numbers, refusal=TOO_LONG):
    def respond(request):
        content = content_of(request)
        return refusal if any(f"number {k} " in content for k in numbers) else server.usual(request)

    return respond


def test_readings_are_what_the_model_says_and_in_the_texts_order(ask, server):
    ask()
    assert column("item_id") == [f"t{i}" for i in range(12)]
    np.testing.assert_allclose(logprobs(), expected(), atol=1e-12)
    assert set(column("reader")) == {"tiny"} and set(column("reader_model")) == {"tiny-2025"}
    assert set(column("reader_decoding")) == {"temperature 0, max_tokens 16, top_logprobs 20"}
    assert len(set(column("reader_prompt"))) == 1
    assert read_readings("out.csv").scale.options == ("1", "2", "3", "4", "5")
    assert len(server.asked) == 12 and set(server.keys) == {f"Bearer {KEY}"}


def test_what_was_answered_is_not_asked_again(ask, server):
    ask()
    first = Path("out.csv").read_text()
    Path("out.csv").unlink()
    # A run that was killed may leave half a line.
    with ANSWERS.open("a") as file:
        file.write('{"key": "ab')
    assert "12 of 12 answers" in ask().stderr
    assert len(server.asked) == 12 and Path("out.csv").read_text() == first
    ask("--question", "How good is it?")
    assert len(server.asked) == 24
    ANSWERS.write_text("item_id,text\n")
    assert "a different file" in ask(status=2).stderr


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("decisions", "1,2,3,4,5"),
        ("systemone", "lowest,low,middle,high,highest"),
        pytest.param("decisions", "lowest,low,middle,high,highest", marks=pytest.mark.nightly),
        pytest.param("systemone", "1,2,3,4,5", marks=pytest.mark.nightly),
    ],
)
def test_a_decision_model_is_asked_by_its_address(cordial, server, tmp_path, path, options):
    """OpenAI's `/v1/decisions` (also of SGLang and vLLM), TypeSafe's `/v1/systemone`."""
    write_texts(tmp_path / "texts.csv")
    command = ("ask", "texts.csv", "-o", "out.csv", "--model", "tiny", "--server")
    command += (f"{server.url}/{path}", "--options")
    cordial(*command, options)
    found = np.array([column(f"p_{option}") for option in options.split(",")], float).T
    np.testing.assert_allclose(found, np.exp(expected()), atol=0.01)
    assert set(column("reader_model")) == {"decider-1"}
    assert set(column("reader_decoding")) == {"decision"} and len(set(column("reader_prompt"))) == 1
    assert all("It is number" in content_of(request) for request in server.asked)
    assert set(server.asked[0]) == {"model", "questions", {"decisions": "input"}.get(path, "state")}
    # What was answered is not asked again; another scale is another question.
    cordial(*command, options)
    assert len(server.asked) == 12 and set(server.keys) == {"Bearer none"}
    cordial(*command, "a,b,c,d,e")
    assert len(server.asked) == 24


def test_decisions_may_be_those_of_system_one(ask, server):
    """Perplexity's and Merge's `/v1/decisions`, which take a state and a map of questions."""
    missing = 422, {"detail": [{"loc": ["body", "state"], "msg": "Field required"}]}
    server.respond = lambda asked: server.usual(asked) if "state" in asked else missing
    ask("--server", f"{server.url}/decisions", "--concurrency", "1")
    found = np.array([column(f"p_{k}") for k in range(1, 6)], float).T
    np.testing.assert_allclose(found, np.exp(expected()), atol=0.01)
    assert len(server.asked) == 13
    # A text that is refused changes nothing for the others.
    flagged = 400, {"error": {"message": "cannot state this"}}
    server.respond = refusing(server, (2,), flagged)
    ask("--server", f"{server.url}/decisions", "--question", "How?", "--concurrency", "1")
    assert column("unread") == ["failed" if k == 2 else "" for k in range(12)]
    assert all("input" in request for request in server.asked[-9:])


def test_decision_models_refuse_and_fail_as_others_do(ask, server):
    def respond(request):
        if "number 3 " in content_of(request):
            return 200, {"model": "m", "answers": [{"type": "refusal", "name": None}]}
        return refusing(server, (5,))(request)

    server.respond, address = respond, f"{server.url}/decisions"
    assert "'t3'" in ask("--server", address).stderr
    why = {3: "refused", 5: "failed"}
    assert column("unread") == [why.get(k, "") for k in range(12)]
    for arguments in (("--permutations", "5"), ("--samples", "3")):
        assert "decision model" in ask("--server", address, *arguments, status=2).stderr
    server.respond = lambda request: (200, completion(3))
    shown = ask("--server", address, "--question", "How?", status=1).stderr
    assert "not a decision" in shown and "Traceback" not in shown
    server.respond = lambda request: (404, {"error": {"message": "no such model"}})
    assert "no decision for 'tiny'" in ask("--server", address, "--question", "?", status=2).stderr


@pytest.mark.parametrize("zipped", [False, True])
def test_an_answer_has_an_end(ask, server, monkeypatch, zipped):
    monkeypatch.setattr("cordial_ppl.logs.ask.chat.LARGEST", 10_000)
    body = json.dumps(completion(3) | {"system_fingerprint": "x" * 20_000})
    told = (200, zlib.compress(body.encode()), {"content-encoding": "deflate"})
    server.respond = refusing(server, (7,), told if zipped else (200, body))
    assert "more than 10000 bytes" in ask().stderr
    assert column("unread") == ["failed" if k == 7 else "" for k in range(12)]
    assert "xxx" not in ANSWERS.read_text()


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
    ask("--concurrency", "1", *arguments)
    assert len(server.asked) == 12 + len(refused) and set(column("reader_decoding")) == {decoding}


@pytest.mark.parametrize("kind", ["several", "ignored", "refused"])
def test_samples_are_counted(ask, server, kind):
    turns = {}

    def respond(request):
        if kind == "refused" and request.get("n", 1) > 1:
            return 400, {"error": {"message": "n must be 1"}}
        content = request["messages"][-1]["content"]
        stars, choices = stars_of(content), []
        for _ in range(request.get("n", 1) if kind == "several" else 1):
            turn = turns[content] = turns.get(content, -1) + 1
            # Every third answer is a star away.
            said = stars if turn % 3 else (stars + 1 if stars < 5 else 4)
            choices += completion(said, 1, logprobs=False)["choices"]
        return 200, completion(stars, logprobs=False) | {"choices": choices}

    server.respond = respond
    ask("--samples", "6", "--concurrency", "1")
    for row, word in zip(counts(), WORDS, strict=True):
        stars = STARS[word]
        assert row[stars - 1] == 4 and row[stars if stars < 5 else 3] == 2
    assert len(server.asked) == {"several": 12, "ignored": 72, "refused": 73}[kind]


def test_orders_of_options_cancel_what_places_add(ask, server):
    bias = np.array([0.9, 0.2, 0.0, -0.3, 1.1])

    def respond(request):
        content = request["messages"][-1]["content"]
        listed = content.split("one of: ")[1].split(".")[0].split(", ")
        stars = stars_of(content)
        logits = {name: bias[i] - 0.7 * abs(int(name) - stars) for i, name in enumerate(listed)}
        total = np.logaddexp.reduce(list(logits.values()))
        top = [{"token": t, "logprob": float(v - total)} for t, v in logits.items()]
        body: dict = completion(stars)
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
    # A text that is refused in one order of the options has no reading.
    server.script = {len(asked) + 1: TOO_LONG}
    ask("--permutations", "5", "--concurrency", "1", "--question", "How?")
    assert np.isnan(logprobs()).any(axis=1).sum() == 1


def test_other_columns_go_along(ask):
    rows = ["item_id,text,user,length,p_1,label,rating,reader,reader_model"]
    rows += [f"t{i},so {word},u{i % 2},{i}.5,0.5,3,4,old,old-1" for i, word in enumerate(WORDS)]
    Path("texts.csv").write_text("\n".join(rows))
    ask()
    cells = read_columns("out.csv").cells
    assert list(cells["user"][:3]) == ["u0", "u1", "u0"] and cells["length"][11] == "11.5"
    assert "label" in cells and not {"p_1", "rating", "text"} & set(cells)
    # They replace nothing that the run itself says.
    assert set(cells["reader"]) == {"tiny"} and set(cells["reader_model"]) == {"tiny-2025"}


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ((401, {"error": {"message": f"bad key {KEY}"}}), "bad key [the key]"),
        ((404, {"error": {"message": "no such model"}}), "no such model"),
        ((307, "", {"location": "http://127.0.0.1:1/"}), "307"),
        ((400, {"error": {"message": "no logprobs here"}}), "--samples 20"),
        ((200, completion(3, logprobs=False)), "--samples 20"),
        ((200, completion(3, alone=True)), "--samples 20"),
        (TOO_LONG, "no usable answer for 't0' (Error code: 400"),
        ((403, {"error": "Key limit exceeded"}), "Key limit exceeded"),
    ],
)
def test_what_no_retry_helps_ends_the_run(ask, server, told, words):
    server.script = {number: told for number in range(99)}
    every = told[0] not in (200, 400)
    result = ask("--concurrency", "1", status=2 if every else 1)
    assert words in result.stderr and KEY not in result.stderr
    assert result.stderr.count("\n") == (1 if every else 2) and not Path("out.csv").exists()
    texts = {request["messages"][-1]["content"] for request in server.asked}
    assert len(texts) == (1 if every else 3)
    # Nothing is kept of them: the same command works once the server does.
    server.script = {}
    ask()
    assert len(column("item_id")) == 12 and not np.isnan(logprobs()).any()


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ((500, {"error": {"message": f"no {KEY} no"}}), "no [the key] no"),
        ("hang", "no answer"), ((200, "{no json"), "not a chat completion"),
        ((200, {"choices": ["?"]}), "not a chat completion"),
        (of_message({"content": [4]}), "not a chat completion"),
    ],
    ids=lambda told: str(told)[:20],
)  # fmt: skip
def test_failures_are_named_and_the_rest_is_kept(ask, server, monkeypatch, told, words):
    monkeypatch.setattr("cordial_ppl.logs.ask.chat.RETRIES", 1)
    monkeypatch.setattr("cordial_ppl.logs.ask.chat.TIMEOUT", 1.0 if told == "hang" else 300.0)
    server.respond = refusing(server, (7,), told)
    shown = ask(status=1).stderr
    # What is under way is kept; what has not begun is not asked any more.
    kept = len(ANSWERS.read_text().splitlines())
    assert 7 <= kept <= 11
    assert "'t7'" in shown and words in shown and ANSWERS.name in shown
    assert sorted(path.name for path in Path().iterdir()) == [ANSWERS.name, "texts.csv"]
    monkeypatch.setattr("cordial_ppl.logs.ask.chat.TIMEOUT", 300.0)
    asked, server.respond = len(server.asked), server.usual
    ask()
    assert len(server.asked) == asked + 12 - kept
    np.testing.assert_allclose(logprobs(), expected(), atol=1e-12)


@pytest.mark.parametrize(
    ("refusal", "numbers"),
    [
        (TOO_LONG, (0, 1, 7)),
        ((403, {"error": "flagged"}), (5,)),
        ((403, {"error": "Content violates usage guidelines. API key ID: k"}), (5,)),
        # Those that are tried first are not side by side.
        (TOO_LONG, (0, 1, 2)),
        ((200, completion(3, logprobs=False)), (5,)),
    ],
)
def test_a_text_that_is_refused_is_kept_without_a_reading(ask, server, refusal, numbers):
    server.respond = refusing(server, numbers, refusal)
    assert f"'t{numbers[0]}'" in ask().stderr
    assert column("item_id") == [f"t{k}" for k in range(12)]
    assert column("unread") == ["failed" if k in numbers else "" for k in range(12)]
    truth = expected()
    truth[[*numbers]] = np.nan
    np.testing.assert_allclose(logprobs(), truth, atol=1e-12)
    assert set(column("reader")) == {"tiny"}
    # Nothing is asked again, refused or not.
    asked = len(server.asked)
    (places,) = json.loads(ask("--json").stdout)["unread"].values()
    assert [place.split("'")[1] for place in places] == [f"t{k}" for k in numbers]
    assert len(server.asked) == asked


def test_an_answer_without_an_option_is_no_reading(ask, server):
    mute = of_message({"role": "assistant", "content": None, "refusal": "I will not."})
    server.script = {0: mute, 5: mute}
    ask("--concurrency", "1")
    assert column("unread") == ["refused" if k in (0, 5) else "" for k in range(12)]
    server.script = {12: of_message({"content": "Let us think of"})}
    ask("--samples", "1", "--concurrency", "1")
    assert column("unread") == ["no option"] + [""] * 11 and column("n_3")[0] == ""


@pytest.mark.parametrize("written", [KEY, KEY.replace("-", "\\u002d")])
def test_a_key_is_written_nowhere(ask, server, written):
    def respond(request):
        body = server.usual(request)[1] | {"system_fingerprint": "KEY", "model": "tiny KEY"}
        return 200, json.dumps(body).replace("KEY", written)

    server.respond = respond
    assert KEY not in ask().stderr
    for path in Path().iterdir():
        assert KEY.encode() not in path.read_bytes(), path
    assert "tiny [the key]" in Path("out.csv").read_text()
    rows = [json.loads(line) for line in ANSWERS.read_text().splitlines()]
    names = {"choices", "usage", "model", "decoding", "date"}
    assert len(rows) == 12 and all(set(row["body"]) | {*row["made"]} == names for row in rows)
    # Prompts are not kept either.
    assert "number 3" not in ANSWERS.read_text()


OPENAI, OTHER = "https://api.openai.com/v1", "https://llm.example.org/v1"
KEYS = {
    OPENAI: True, OTHER: False, f"{OTHER} OPENAI_API_KEY": True,
    "https://openai.com.example.org/v1": False, "https://api.openai.com@example.org/v1": None,
    "http://llm.example.org/v1 OPENAI_API_KEY": None, "http://api.openai.com/v1": None,
    "http://localhost:8000/v1": False, "http://localhost:8000/v1 OPENAI_API_KEY": True,
    "http://127.0.0.1.example.org/v1 OPENAI_API_KEY": None, "http://[::1]:8000/v1": False,
    f"{OTHER}?key=secret": None, "ftp://llm.example.org": None,
}  # fmt: skip


@pytest.mark.parametrize(("address", "sent"), KEYS.items())
def test_a_key_goes_where_it_is_meant_to_go_and_nothing_else_goes(monkeypatch, address, sent):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "secret-org")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "secret-project")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Key: secret-header")
    if sent is None:
        with pytest.raises(InputError) as refused:
            Chat("tiny", *address.split())
        assert "secret" not in str(refused.value)
    else:
        client = Chat("tiny", *address.split())._client
        headers = str(client.default_headers | client.auth_headers)
        assert (KEY in headers) == sent and "secret" not in headers
        assert str(client.base_url).rstrip("/") == address.split()[0]


def test_no_proxy_hears_what_is_meant_for_this_machine(ask, server, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    ask()
    assert len(server.asked) == 12


TABLES = {
    "item_id,text\na,x good\nb,y good\na,z good\n": "'a' is in lines 2 and 4",
    "item_id,review\na,x good\n": "no column 'text'",
    "item_id,text\na,x good\nb,\n": "'text' has no value in line 3",
}
USAGE = {
    "--server localhost:8000": "http://localhost:8000/v1",
    "--server http://me:secret@localhost/v1": "API keys are read from environment",
    "--key-variable NO_SUCH": "NO_SUCH", "--key-variable WORDS": "WORDS",
    "--permutations 6": "at most 5", "--local": "--local", "--prompt nowhere.txt": "nowhere.txt",
    "--spell 9=nine": "'9'", "--after (": "regular expression",
    "--concurrency 65": "64", "--concurrency 0": "1",
}  # fmt: skip


@pytest.mark.parametrize(
    ("table", "arguments", "words"),
    [
        *((table, "", words) for table, words in TABLES.items()),
        *((None, arguments, words) for arguments, words in USAGE.items()),
    ],
)
def test_wrong_usage(ask, server, monkeypatch, table, arguments, words):
    monkeypatch.setenv("WORDS", "two words")
    if table:
        Path("texts.csv").write_text(table)
    shown = ask(*arguments.split(), status=2).stderr
    assert words in shown and "secret" not in shown and not server.asked
    assert not ANSWERS.exists()


def test_what_is_missing_on_this_machine(cordial, monkeypatch, tmp_path):
    write_texts(tmp_path / "texts.csv")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    command = ("ask", "texts.csv", "-o", "out.csv", *OPTIONS)
    assert "OPENAI_API_KEY" in cordial(*command, status=2).stderr
    for package, extra, *words in (("openai", "server"), ("torch", "local", "--local")):
        monkeypatch.setitem(sys.modules, package, None)
        assert f"cordial-ppl[{extra}]" in cordial(*command, *words, status=2).stderr


@pytest.mark.nightly
@pytest.mark.parametrize("answered", [True, False])
def test_after_ctrl_c_what_is_under_way_is_kept_and_not_asked_again(server, tmp_path, answered):
    write_texts(tmp_path / "texts.csv")
    program = "from cordial_ppl.cli import main; main()"
    command = [sys.executable, "-c", program, "ask", "texts.csv", "-o", "out.csv", *OPTIONS]
    command += ["--server", server.url, "--concurrency", "2"]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}

    def start():
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=pipe, text=True)

    def respond(request):
        if len(server.asked) > 6 and not server.release.is_set():
            server.held.release()
            server.release.wait()
            return server.usual(request) if answered else "hang"
        return server.usual(request)

    server.respond = respond
    running = start()
    assert all(server.held.acquire(timeout=120) for _ in range(2))
    running.send_signal(signal.SIGINT)
    time.sleep(0.5)
    server.release.set()
    _, shown = running.communicate(timeout=120)
    assert running.returncode == 130 and "Traceback" not in shown and "resume" in shown
    kept = len((tmp_path / ANSWERS).read_text().splitlines())
    assert kept == 8 == len(server.answered)
    done = start()
    _, shown = done.communicate(timeout=120)
    assert done.returncode == 0, shown
    assert set(server.answered.values()) == {1} and len(server.answered) == 12
    np.testing.assert_allclose(logprobs(tmp_path / "out.csv"), expected(), atol=1e-12)
