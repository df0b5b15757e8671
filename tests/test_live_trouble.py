"""A server that misbehaves as servers do, and runs that are interrupted."""

import datetime
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from asked_texts import OPTIONS, WORDS, expected, logprobs, write_texts
from loopback import KEY, completion

from cordial_ppl.live import patience
from cordial_ppl.tables.files import read_columns


def impossible(score):
    """A completion with a log-probability that is none."""
    body = completion(3)
    body["choices"][0]["logprobs"]["content"][0]["top_logprobs"][0]["logprob"] = score
    return body


def test_trouble_passes(ask, server):
    server.script = {
        1: (429, {"error": {"message": "slow down"}}, {"retry-after": "0.05"}),
        2: (500, "oops", {}),
        8: (500, "[" * 200_000, {}),
        3: "garbage",
        4: "hang",
        6: (200, {"choices": []}, {}),
        7: (200, {"choices": ["?"]}, {}),
        9: (503, {"error": "busy"}, {"retry-after": "soon"}),
        10: (200, impossible(0.5), {}),
        11: (200, impossible(float("nan")), {}),
    }
    ask("--timeout", "0.5", "--concurrency", "3")
    np.testing.assert_allclose(logprobs(), expected(), atol=1e-12)
    # A machine that is busy may let more than one request hang.
    assert len(server.asked) >= 12 + 10


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


def test_nobody_listens(ask):
    shown = ask("--server", "http://127.0.0.1:9/v1", "--retries", "1", status=1).output
    assert "no connection to http://127.0.0.1:9/v1" in shown
    assert "12 of 12 questions got no answer" in shown


def started(server, folder):
    """Ask our server about the texts in a folder, in a process of its own."""
    program = "from cordial_ppl.cli import main; main()"
    command = [sys.executable, "-c", program, "ask", "texts.csv", "-o", "out.csv", *OPTIONS]
    command += ["--server", server.url, "--concurrency", "2"]
    root = str(Path(__file__).parent.parent)
    environment = os.environ | {"PYTHONPATH": root, "NO_PROXY": "127.0.0.1", "OPENAI_API_KEY": KEY}
    return subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)


def test_after_a_kill_no_request_is_repeated(server, tmp_path):
    write_texts(tmp_path / "texts.csv")
    # Six are answered; when two more wait for their answers, all six are kept.
    server.hold_from = 6
    running = started(server, tmp_path)
    try:
        assert server.held.acquire(timeout=30)
        assert server.held.acquire(timeout=30)
    finally:
        running.kill()
        running.communicate()
    assert not (tmp_path / "out.csv").exists()
    server.release.set()
    server.hold_from = None
    done = started(server, tmp_path)
    _, shown = done.communicate(timeout=60)
    assert done.returncode == 0, shown
    assert len(server.answered) == 12
    assert set(server.answered.values()) == {1}
    np.testing.assert_allclose(logprobs(tmp_path / "out.csv"), expected(), atol=1e-12)


def test_when_told_to_wait_everybody_does(ask, server):
    usual = server.usual

    def respond(request):
        # By then who was told to wait has heard it.
        server.release.wait(0.2)
        return usual(request)

    server.respond = respond
    server.script = {1: (429, "", {"retry-after": "0.7"})}
    ask("--concurrency", "3")
    told = server.times[1]
    later = [seconds - told for seconds in server.times[4:]]
    assert len(later) == 9 and min(later) > 0.65


def test_an_answer_in_drips_is_none(ask, server):
    server.script = {2: "drip"}
    ask("--timeout", "0.5", "--concurrency", "1")
    assert len(server.asked) >= 13 and not server.dripped


def test_who_stops_it_is_told_how_to_go_on(server, tmp_path):
    write_texts(tmp_path / "texts.csv")
    server.hold_from = 6
    running = started(server, tmp_path)
    assert server.held.acquire(timeout=30) and server.held.acquire(timeout=30)
    running.send_signal(signal.SIGINT)
    _, shown = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "stopped: 6 of 12 answers are in out.csv.cache; the same command goes on" in shown
    assert "Traceback" not in shown


def test_two_runs_do_not_pay_for_the_same(server, tmp_path):
    write_texts(tmp_path / "texts.csv")
    server.hold_from = 6
    first = started(server, tmp_path)
    assert server.held.acquire(timeout=30) and server.held.acquire(timeout=30)
    second = started(server, tmp_path)
    _, shown = second.communicate(timeout=60)
    assert second.returncode == 2
    assert "another run uses the cache out.csv.cache" in shown
    assert len(server.asked) == 8
    first.kill()
    first.communicate()
