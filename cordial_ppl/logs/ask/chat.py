"""Chat completions of a model on a server, asked through the package `openai`."""

import json
import os
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from cordial_ppl.errors import CordialError, InputError, ServerError
from cordial_ppl.logs.ask.asking import Refused, load
from cordial_ppl.logs.protocols import read_response
from cordial_ppl.logs.rows import STUMBLES

OPENAI = "https://api.openai.com/v1"

TIMEOUT, RETRIES = 300.0, 5
"""Seconds to wait for an answer, and how often `openai` repeats a request that may yet succeed."""

TOP, FEWER, SEVERAL = 20, 5, 100
"""Alternatives to a token to ask for; and from a server that refuses as many; samples at once."""

KEPT = ("choices", "model", "created", "usage")
"""The parts of a response that are kept."""


class Chat:
    """A model on a server; settings that the server does not take are left out.

    Only OpenAI's own address gets the key in `OPENAI_API_KEY` unasked; another one gets the key in
    the variable that the user names, and none over plain http to another machine.

    Args:
        name: The model.
        url: The address up to `/chat/completions`; by default OPENAI_BASE_URL, or OpenAI's.
        key_variable: The environment variable that holds the key, if not the usual one.
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
        samples: int = 0,
        max_tokens: int = 16,
        concurrency: int = 8,
    ):
        self._openai = load("openai", "server")
        url = url or os.environ.get("OPENAI_BASE_URL") or OPENAI
        self.name, self.url = name, url.rstrip("/").removesuffix("/chat/completions")
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
                follow_redirects=False, trust_env=not local
            ),
        )
        # Nothing else of the environment is sent: no organisation, project or headers.
        self._client.organization = self._client.project = None
        self._client._custom_headers = {}
        logprobs = {} if samples else {"logprobs": True, "top_logprobs": TOP}
        self.settings = {"temperature": float(samples > 0), "max_tokens": max_tokens, **logprobs}
        self.settings |= {"n": samples} if samples > 1 else {}
        # What the server takes, which may be less; known once it has answered.
        self._taken, self._is_known = self.settings, False

    def ask(self, question: str) -> dict[str, Any]:
        """Ask for a completion, or for several; less is asked for if the server refuses."""
        choices: list[Any] = []
        settings = self._taken
        while True:
            number = min(self.samples - len(choices), SEVERAL)
            sent = {name: value for name, value in settings.items() if name != "n"}
            sent |= {"n": number} if "n" in settings and number > 1 else {}
            try:
                body = self._complete(question, sent)
                if not self.samples and not _has_alternatives(body):
                    raise Refused("its answer has no logprobs")
            except Refused as refusal:
                less = None if self._is_known else _concede(settings, str(refusal))
                if less is None and "logprob" in str(refusal) and not self._is_known:
                    raise InputError(
                        f"{self.url} gives no log-probabilities for {self.name!r} ({refusal}). "
                        "Sample its answers instead: --samples 20."
                    ) from refusal
                if less is None:
                    raise
                settings = less
                continue
            choices += body["choices"]
            self._taken, self._is_known = settings, True
            if len(choices) >= self.samples:
                names = ("temperature", "max_tokens", "max_completion_tokens", "top_logprobs")
                decoding = ", ".join(f"{name} {sent[name]:g}" for name in names if name in sent)
                decoding += f", samples {self.samples}" if self.samples else ""
                return body | {"choices": choices, "decoding": decoding}

    def close(self) -> None:
        """Close the connections to the server."""
        self._client.close()

    def _complete(self, question: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parts of a response that are kept, whose answers can be read."""
        header = {} if self._key else {"Authorization": self._openai.Omit()}
        messages = [{"role": "user", "content": question}]
        try:
            response = self._client.chat.completions.with_raw_response.create(
                model=self.name, messages=messages, extra_headers=header, **settings
            )
        except self._openai.APIStatusError as error:
            raise self._failure(error) from error
        except self._openai.APIConnectionError as error:
            reason = self._hide_key(str(error.__cause__ or error))
            raise ServerError(f"no answer from {self.url}: {reason}") from error
        try:
            # A server may repeat the key, and what it sends is kept.
            body = json.loads(self._hide_key(json.dumps(json.loads(response.text))))
            _ = body["choices"][0]["message"], read_response(body)
        except STUMBLES as error:
            words = self._hide_key(response.text)
            raise ServerError(f"the answer is not a chat completion: {words!r:.300}") from error
        return {name: body[name] for name in KEPT if name in body}

    def _failure(self, error: Any) -> CordialError:
        """Make the error of a status: of every question, of this one, or one that may pass."""
        status, body = error.status_code, error.body
        words = self._hide_key(str((body.get("message") if isinstance(body, dict) else body) or ""))
        reason = " ".join(f"status {status}: {words:.300}".split())
        if status in (408, 409, 429) and error.code != "insufficient_quota" or status >= 500:
            return ServerError(reason)
        general = status in (401, 404, 405, 429) or status == 403 and not self._is_known
        if general or status < 400:
            return InputError(
                f"{self.url} offers no chat completions for {self.name!r} ({reason}). Check "
                "--model, --server (the address up to /chat/completions, usually ending in /v1) "
                "and --key-variable."
            )
        return Refused(reason)

    def _hide_key(self, text: str) -> str:
        # Servers without keys are given words such as "none", which are no secrets.
        return text.replace(self._key, "[the key]") if len(self._key) >= 8 else text


def _has_alternatives(body: Mapping[str, Any]) -> bool:
    """Say whether an answer has log-probabilities; an empty one and a refusal have nothing to."""
    message, response = body["choices"][0]["message"], read_response(body)
    positions = response.answers[0].positions if response else ()
    empty = message.get("refusal") or not message.get("content")
    return bool(empty) or any(len(position.top) > 1 for position in positions)


def _find_key(url: str, variable: str | None) -> tuple[str, bool]:
    """Find the key for an address, and whether the address is on this machine."""
    try:
        parts = urlsplit(url)
        secret = parts.username or parts.password or parts.query or parts.fragment
        _ = parts.port  # Raises ValueError where it is not a number.
    except ValueError:
        parts, secret = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or secret:
        # What was given is not quoted, as it may contain a key.
        raise InputError(
            "a server's address must be like http://localhost:8000/v1, with nothing before the "
            "host or after the path; keys come from the environment."
        )
    try:
        local = parts.hostname == "localhost" or ip_address(parts.hostname).is_loopback
    except ValueError:
        local = False
    named = variable or ("OPENAI_API_KEY" if parts.hostname == urlsplit(OPENAI).hostname else None)
    key = os.environ.get(named, "").strip() if named else ""
    if named and not (key and key.isascii() and key.isprintable() and " " not in key):
        raise InputError(
            f"the environment variable {named} does not hold a key for {url}. Name another one "
            "with --key-variable, another server with --server URL, or a model on this machine "
            "with --local."
        )
    if key and parts.scheme != "https" and not local:
        raise InputError(f"the key in {named} is not sent to {url} unencrypted: use https.")
    return key, local


def _concede(settings: Mapping[str, Any], refusal: str) -> dict[str, Any] | None:
    """Ask for less after a server refused a request; None if nothing is left to give up."""
    rest = dict(settings)
    if "max_tokens" in rest and "max_completion_tokens" in refusal:
        rest["max_completion_tokens"] = rest.pop("max_tokens")
        return rest
    if "temperature" in rest and "temperature" in refusal:
        # Reasoning models have one temperature, and let no request name another.
        return {name: value for name, value in rest.items() if name != "temperature"}
    if "logprob" in refusal and rest.get("top_logprobs", 0) > FEWER:
        return rest | {"top_logprobs": FEWER}
    return {name: value for name, value in rest.items() if name != "n"} if "n" in rest else None
