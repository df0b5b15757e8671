"""A server on this machine that speaks chat completions and decisions, and misbehaves if told."""

import json
import math
import threading
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-not-to-be-written-0123456789"

STARS = {"awful": 1, "poor": 2, "fair": 3, "good": 4, "superb": 5}


def stars_of(content):
    """What the model thinks of a text: the stars of the last of our words in it."""
    return [STARS[word] for word in content.replace(".", " ").split() if word in STARS][-1]


def completion(stars, number=1, logprobs=True, alone=False) -> dict[str, Any]:
    """A response as servers send it: an option's weight halves with each star's distance."""
    weights = {str(k): 0.5 ** abs(k - stars) for k in range(1, 6)}
    total = sum(weights.values())
    top = [{"token": t, "logprob": math.log(w / total)} for t, w in weights.items()]
    entry = top[stars - 1] | {"top_logprobs": [] if alone else top}
    choice = {
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": str(stars)},
        "logprobs": {"content": [entry]} if logprobs else None,
    }
    return {
        "object": "chat.completion",
        "created": 1760000000,
        "model": "tiny-2025",
        "choices": [choice | {"index": i} for i in range(number)],
        "usage": {"prompt_tokens": 40, "completion_tokens": number},
    }


def decision(request) -> dict[str, Any]:
    """A decision in the shape of OpenAI's Decision, or of System One if that is what is asked."""
    questions, text = request["questions"], content_of(request)
    named = isinstance(questions, dict)
    ((name, one),) = questions.items() if named else [(None, questions[0])]
    labels = one["criteria"] if named else [level["label"] for level in one["levels"]]
    weights = [0.5 ** abs(k + 1 - stars_of(text)) for k in range(len(labels))]
    shares = [round(weight / sum(weights), 2) for weight in weights]
    answer: dict[str, Any] = {"type": "score", "score": 2.0, "confidence": 0.5}
    if named:
        answer["legend"] = {str(k): label for k, label in enumerate(labels)}
        answer["probabilities"] = {str(k): share for k, share in enumerate(shares)}
        return {"model": "decider-1", "answers": {name: answer}, "usage": {"input_tokens": 9}}
    rows = zip(labels, shares, strict=True)
    answer["probabilities"] = [
        {"value": k, "label": label, "probability": share} for k, (label, share) in enumerate(rows)
    ]
    answers = [answer | {"name": one.get("name")}]
    return {"model": "decider-1", "answers": answers, "usage": {"input_tokens": 9}}


def content_of(request):
    """The question of a request, whatever its protocol calls it."""
    messages = request.get("messages")
    return messages[-1]["content"] if messages else request.get("input") or request["state"]


class Loopback:
    """What the server does, and what was asked of it.

    `script` maps the number of a request (from 0) to (status, body), or to (status, body, headers),
    or to "hang"; other requests are answered by `respond`, from `hold_from` on by nothing.
    """

    def __init__(self):
        self.url, self.script, self.respond = "", {}, self.usual
        self.asked, self.keys, self.answered = [], [], Counter()
        self.at_once = self.most_at_once = 0
        self.hold_from = math.inf
        self.held, self.release = threading.Semaphore(0), threading.Event()
        self.lock = threading.Lock()

    def usual(self, request):
        if "questions" in request:
            return 200, decision(request)
        stars = stars_of(content_of(request))
        return 200, completion(stars, request.get("n", 1), bool(request.get("logprobs")))

    def handle(self, handler):
        request = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        with self.lock:
            number = len(self.asked)
            self.asked.append(request)
            self.keys.append(handler.headers.get("authorization"))
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            held = number >= self.hold_from
            told = "hang" if held else self.script.get(number) or self.respond(request)
            if told == "hang":
                self.held.release()
                self.release.wait()
                handler.close_connection = True
                return
        finally:
            with self.lock:
                self.at_once -= 1
        status, body, *more = told
        with self.lock:
            self.answered[content_of(request)] += status == 200
        text = body if isinstance(body, str | bytes) else json.dumps(body)
        text = text.encode() if isinstance(text, str) else text
        handler.send_response(status)
        # Without the second, the client waits for half a second and more before it tries again.
        usual = {"content-length": str(len(text)), "retry-after-ms": "10"}
        for name, value in (usual | dict(*more)).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(text)


@contextmanager
def serving():
    """Run the server while a test asks it."""
    loopback = Loopback()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # A response in one piece: the client's system would wait before it acknowledges the first.
        wbufsize = -1
        disable_nagle_algorithm = True

        def do_POST(self):
            known = self.path in ("/v1/chat/completions", "/v1/decisions", "/v1/systemone")
            loopback.handle(self) if known else self.send_error(404)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    # Clients may hang up.
    server.handle_error = lambda request, client_address: None
    loopback.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield loopback
    finally:
        loopback.release.set()
        server.shutdown()
        thread.join()
        server.server_close()
