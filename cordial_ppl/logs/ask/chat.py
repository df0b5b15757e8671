"""Chat completions or decisions of a model on a server, asked through the package `openai`."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from cordial_ppl.errors import InputError, Refused, ServerError
from cordial_ppl.logs.protocols import read_response
from cordial_ppl.logs.rows import STUMBLES, load

ADDRESS = re.compile(r"(https?)://(\[[\da-fA-F:.]+\]|[\w.-]+)(?::\d+)?(?:/[^?#@\s]*)?")
"""An address with neither a user nor a query, in which a key may hide; its scheme and host."""

ACCOUNT = re.compile(
    "^(?!.*(?:violat|flagged|moderat|safety))"
    ".*(?:key|limit|quota|billing|permission|country|region|territory)",
    re.IGNORECASE,
)
"""Matches a refusal that is of an account; one of a text may name the account's key, too."""

TIMEOUT, RETRIES, LARGEST = 300.0, 5, 2**24
"""Seconds to wait for an answer, how often `openai` repeats a request that may yet succeed, and
bytes of an answer, at most."""

ENDPOINTS = CHAT, DECISIONS, SYSTEM_ONE = "/chat/completions", "/decisions", "/systemone"
"""Ends of the address that say what is asked for."""

SCORE = {"type": "score", "instructions": "Answer the question in the input."}
"""What decision models are asked about the prompt, with the options as levels."""


class Chat:
    """A model on a server; settings that the server does not take are left out.

    Only OpenAI's own address gets the key in `OPENAI_API_KEY` unasked; another one gets the key in
    the variable that the user names, and none over plain http to another machine.

    Args:
        name: The model.
        url: The address up to `/chat/completions`; by default OPENAI_BASE_URL, or OpenAI's. One
            that ends in `/decisions` or `/systemone` is that of a decision model.
        key_variable: The environment variable that holds the key, if not the usual one.
        options: The options, which a decision model needs.
        samples: Answers to sample for each question; 0 to read log-probabilities.
        max_tokens: Tokens of an answer, at most.
        concurrency: Questions at once, at most.

    Raises:
        InputError: The address is malformed or may contain a secret, the key is missing or would
            be sent unencrypted, or `openai` is not installed.
    """

    def __init__(
        self,
        name: str,
        url: str | None = None,
        key_variable: str | None = None,
        *,
        options: Sequence[str] = (),
        samples: int = 0,
        max_tokens: int = 16,
        concurrency: int = 8,
    ):
        self._openai = load("openai", "server")
        url = (url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1").rstrip("/")
        self.endpoint = next(filter(url.endswith, ENDPOINTS), CHAT)
        self.name, self.url = name, url.removesuffix(self.endpoint)
        self.samples, self.concurrency = samples, concurrency
        self._key, local = _find_key(self.url, key_variable)
        # Without a key the client would take that in OPENAI_API_KEY; what is meant for this
        # machine passes no proxy.
        self._client = self._openai.OpenAI(
            api_key=self._key or "none",
            base_url=self.url,
            timeout=TIMEOUT,
            max_retries=RETRIES,
            http_client=self._openai.DefaultHttpxClient(
                follow_redirects=False, trust_env=not local, event_hooks={"response": [_read]}
            ),
        )
        self.close = self._client.close
        # Nothing else of the environment is sent: no organisation, project or headers.
        self._client.organization = self._client.project = None
        self._client._custom_headers = {}
        kind = {"n": samples} if samples else {"logprobs": True, "top_logprobs": 20}
        levels = [{"label": option} for option in options]
        self.settings: dict[str, Any] = {
            CHAT: {"temperature": float(samples > 0), "max_tokens": max_tokens} | kind,
            DECISIONS: {"questions": [SCORE | {"name": "rating", "levels": levels}]},
            SYSTEM_ONE: {"questions": {"rating": SCORE | {"criteria": [*options]}}},
        }[self.endpoint]
        # What the server takes, which may be less.
        self._taken: dict[str, Any] = dict(self.settings)

    def ask(self, question: str) -> dict[str, Any]:
        """Ask for a completion, or for several; less is asked for if the server refuses."""
        body, choices, sent = {}, [], self._taken
        while len(choices) < max(self.samples, 1):
            sent = sent | ({"n": self.samples - len(choices)} if "n" in sent else {})
            try:
                body = self._complete(question, sent)
                choices += body.get("choices", [body])
            except Refused as refusal:
                sent = _concede(sent, refusal)
        self._taken = sent
        if self.endpoint != CHAT:
            return body | {"decoding": "decision"}
        shown = {name: value for name, value in sent.items() if name not in ("logprobs", "n")}
        shown |= {"samples": self.samples} if self.samples else {}
        decoding = ", ".join(f"{name} {value:g}" for name, value in shown.items())
        return body | {"choices": choices, "decoding": decoding}

    def _complete(self, question: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parts of a response that its answers are read from."""
        kind, held, questions = "decision", "answers", settings.get("questions")
        asked: dict[str, Any] = {"state" if isinstance(questions, dict) else "input": question}
        if questions is None:
            kind, held = "chat completion", "choices"
            asked = {"messages": [{"role": "user", "content": question}]}
        try:
            response = self._client.post(
                self.endpoint,
                cast_to=object,
                body={"model": self.name, **asked, **settings},
                # As `with_raw_response` has it: the text of the response, whatever it is.
                options={"headers": {"X-Stainless-Raw-Response": "true"}},
            )
        except self._openai.APIStatusError as error:
            # Bodies of other forms than OpenAI's are not in the text of the error.
            told = str(error) if " - " in str(error) else f"{error} - {error.body or ''}"
            reason, status = self._hide_key(" ".join(told.split()))[:300], error.status_code
            # Of a text, 403 says that it was flagged; of an account, that all texts are refused.
            if status in (400, 413, 422) or (status == 403 and not ACCOUNT.search(reason)):
                raise Refused(reason) from error
            if status in (408, 409, 429) or status >= 500:
                raise ServerError(reason) from error
            raise InputError(
                f"{self.url} returned no {kind} for {self.name!r} ({reason}). Check "
                "--model, --server (the URL up to /chat/completions, usually ending in /v1) "
                "and --key-variable."
            ) from error
        except self._openai.APIConnectionError as error:
            cause = error.__cause__ or error
            failure = ServerError(f"no answer from {self.url}: {cause}")
            # Older clients take what `_read` raises for a connection that broke.
            raise cause if isinstance(cause, Refused) else failure from error
        try:
            # A server may repeat the key, and what it sends is kept.
            body = json.loads(self._hide_key(json.dumps(json.loads(response.text))))
            if not body[held] or read_response(body) is None:
                raise ValueError(held)
        except STUMBLES as error:
            text = self._hide_key(response.text)
            raise ServerError(f"the answer is not a {kind}: {text!r:.300}") from error
        return {name: body[name] for name in (held, "model", "usage") if name in body}

    def _hide_key(self, text: str) -> str:
        # Servers without keys are given words such as "none", which are no secrets.
        return text.replace(self._key, "[the key]") if len(self._key) >= 8 else text


def _read(response: Any) -> None:
    """Read the body of a response, unless it is too large."""
    body = bytearray()
    for part in response.iter_bytes():
        body += part
        if len(body) > LARGEST:
            raise Refused(f"the answer has more than {LARGEST} bytes")
    # As `httpx` does where a body is read.
    response._content = bytes(body)


def _find_key(url: str, variable: str | None) -> tuple[str, bool]:
    """Find the key for an address, and whether the address is on this machine."""
    if (parts := ADDRESS.fullmatch(url)) is None:
        # What was given is not quoted, as it may contain a key.
        raise InputError(
            "a server URL must look like http://localhost:8000/v1, with no user name before "
            "the host and no query after the path. API keys are read from environment variables."
        )
    scheme, host = parts.groups()
    local = host in ("localhost", "127.0.0.1", "[::1]")
    named = variable or ("OPENAI_API_KEY" if host == "api.openai.com" else None)
    key = os.environ.get(named, "").strip() if named else ""
    if named and not (key.isascii() and key.isprintable() and len(key.split()) == 1):
        raise InputError(
            f"environment variable {named} contains no key for {url}. Name a different variable "
            "with --key-variable, a different server with --server URL, or a model on this "
            "machine with --local."
        )
    if key and scheme != "https" and not local:
        raise InputError(f"cannot send the key in {named} to {url} unencrypted. Use https.")
    return key, local


def _concede(settings: Mapping[str, Any], refused: Refused) -> dict[str, Any]:
    """Ask for less after a server refused a request; raise that if nothing is left to give up."""
    rest, refusal = dict(settings), str(refused)
    if isinstance(rest.get("questions"), list) and "state" in refusal:
        # Some servers call System One's protocol so.
        (score,) = rest["questions"]
        criteria = [level["label"] for level in score["levels"]]
        return {"questions": {"rating": SCORE | {"criteria": criteria}}}
    if "max_tokens" in rest and "max_completion_tokens" in refusal:
        return {"max_completion_tokens": rest.pop("max_tokens")} | rest
    if "logprob" in refusal and rest.get("top_logprobs", 0) > 5:
        return rest | {"top_logprobs": 5}
    # Reasoning models have one temperature; some servers give one answer to a request.
    if rest.pop("temperature" if "temperature" in refusal else "n", None) is None:
        advice = ". Use --samples 20 instead" if "logprob" in refusal else ""
        raise Refused(f"{refusal}{advice}") from refused
    return rest
