"""A server that speaks OpenAI's protocol, asked through the package `openai`."""

import json
import os
import socket
import ssl
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from cordial_ppl.errors import CordialError, InputError, ServerError
from cordial_ppl.logs.ask.asking import Refused, load
from cordial_ppl.logs.ask.prompt import Messages
from cordial_ppl.logs.protocols import read_answers
from cordial_ppl.logs.rows import STUMBLES

OPENAI = "https://api.openai.com/v1"

KEY_VARIABLE = "OPENAI_API_KEY"
"""The environment variable whose key is sent to OpenAI and to servers on this machine."""

TIMEOUT = 300.0
"""Seconds to wait for an answer."""

RETRIES = 5
"""How often `openai` repeats a request that failed in a way that may pass."""

QUOTED = 300
"""Characters of a server's words that a message quotes."""

KEPT = ("choices", "model", "created", "usage")
"""The parts of a response that are kept."""


class Server:
    """A server, for one run.

    A key is taken from the environment. `OPENAI_API_KEY` is sent to OpenAI and to servers on this
    machine only, another variable to the server it is named for, and no key over plain http to
    another machine. Redirects are not followed.

    Args:
        model: The model to ask.
        url: The address up to `/chat/completions`; None for OPENAI_BASE_URL, or OpenAI.
        key_variable: The environment variable that holds the key, if not the usual one.

    Attributes:
        client: The client of the package `openai`.

    Raises:
        InputError: The address is malformed or may contain a secret, the key is missing or
            malformed or would be sent unencrypted, or `openai` is not installed.
    """

    def __init__(self, model: str, url: str | None = None, key_variable: str | None = None):
        self._openai = load("openai", "server")
        self.model, self.key_variable = model, key_variable or KEY_VARIABLE
        url = url or os.environ.get("OPENAI_BASE_URL") or OPENAI
        self.url = url.rstrip("/").removesuffix("/chat/completions")
        self._key = self._find_key(named=key_variable is not None)
        # What is meant for this machine passes no proxy; its authorities are those of the system.
        local = _is_here(urlsplit(self.url).hostname or "", resolve=bool(getproxies()))
        trusting = {"trust_env": False, "verify": ssl.create_default_context()} if local else {}
        try:
            transport = self._openai.DefaultAsyncHttpxClient(follow_redirects=False, **trusting)
        except Exception as error:  # A proxy that is no address, SOCKS, no such certificates.
            raise InputError(
                f"a proxy or certificates that the environment names cannot be used: {error}. "
                "Correct or unset HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY and SSL_CERT_FILE."
            ) from error
        self.client = self._openai.AsyncOpenAI(
            # Without one the client would take the key in OPENAI_API_KEY.
            api_key=self._key or "none",
            base_url=self.url,
            timeout=TIMEOUT,
            max_retries=RETRIES,
            http_client=transport,
        )
        # Nothing else of the environment is sent: no organisation, project or headers.
        self.client.organization = self.client.project = None
        self.client._custom_headers = {}

    def _find_key(self, named: bool) -> str:
        try:
            parts = urlsplit(self.url)
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
        here = _is_here(parts.hostname)
        trusted = named or here or parts.hostname == urlsplit(OPENAI).hostname
        key = os.environ.get(self.key_variable, "").strip() if trusted else ""
        if not (key.isascii() and key.isprintable() and " " not in key) or (named and not key):
            raise InputError(f"the environment variable {self.key_variable} does not hold a key.")
        if not key and self.url == OPENAI:
            raise InputError(
                f"{OPENAI} needs a key in the environment variable {self.key_variable}. Name "
                "another server with --server URL, or a model on this machine with --local."
            )
        if key and parts.scheme != "https" and not here:
            raise InputError(
                f"the key in {self.key_variable} is not sent to {self.url}, where others could "
                "read it on the way: use an address that begins with https."
            )
        return key

    async def complete(
        self, messages: Messages, settings: Mapping[str, Any], has_answered: bool = False
    ) -> dict[str, Any]:
        """Ask for a completion.

        Args:
            messages: The conversation.
            settings: The settings of decoding, in the protocol's words.
            has_answered: True if the server answers others, so that status 403 is about the text.

        Returns:
            The parts of the response in `KEPT`, whose answers can be read.

        Raises:
            InputError: The key, the model or the address is wrong.
            Refused: The server does not answer this request.
            ServerError: No answer came; the same request may get one later.
        """
        ask = self.client.chat.completions.with_raw_response.create
        header = {} if self._key else {"Authorization": self._openai.Omit()}
        try:
            response = await ask(
                model=self.model, messages=messages, extra_headers=header, **settings
            )
        except self._openai.APIStatusError as error:
            raise self._failure(error, has_answered) from error
        except self._openai.APITimeoutError as error:
            raise ServerError(
                f"no answer within {TIMEOUT:g} s in {RETRIES + 1} attempts; ask fewer questions at "
                "once (--concurrency)"
            ) from error
        except self._openai.APIConnectionError as error:
            reason = self._quote(error.__cause__ or error)
            raise ServerError(f"no connection to {self.url}: {reason}") from error
        try:
            # A server may repeat the key, and what it sends is kept.
            body = json.loads(self._hide_key(json.dumps(json.loads(response.text))))
            _ = body["choices"][0]["message"], read_answers(body)
        except STUMBLES as error:
            words = self._quote(response.text)
            raise ServerError(f"the answer is not a chat completion: {words!r}") from error
        return {name: body[name] for name in KEPT if name in body}

    def _failure(self, error: Any, has_answered: bool) -> CordialError:
        """Make the error of a status."""
        status, body = error.status_code, error.body
        words = self._quote((body.get("message") if isinstance(body, dict) else body) or "")
        reason = f"status {status}" + (f": {words}" if words else "")
        if status == 401 or status == 403 and not has_answered:
            problem = (
                f"{self.url} refuses the key in the environment variable {self.key_variable}"
                if self._key
                else f"{self.url} needs a key: name its environment variable, --key-variable NAME"
            )
            return InputError(f"{problem} ({reason}).")
        if status in (404, 405) or status < 400:
            return InputError(
                f"{self.url} offers no chat completions for {self.model!r} ({reason}). Check "
                "--model and --server, the address up to /chat/completions, usually ending in /v1."
            )
        if error.code == "insufficient_quota":
            return InputError(f"the account at {self.url} has no credit left ({reason}).")
        if status == 429:
            return ServerError(f"{reason}; ask fewer questions at once (--concurrency), or wait")
        return ServerError(reason) if status in (408, 409) or status >= 500 else Refused(reason)

    def _quote(self, words: object) -> str:
        """Prepare a server's words for a message: one short line without the key."""
        text = " ".join(self._hide_key(str(words)).split())
        return text if len(text) <= QUOTED else f"{text[:QUOTED]}..."

    def _hide_key(self, text: str) -> str:
        # Servers without keys are given words such as "none", which are no secrets.
        return text.replace(self._key, "[the key]") if len(self._key) >= 8 else text


def _is_here(host: str, resolve: bool = False) -> bool:
    """Tell this machine from other hosts: by the host's address, which a name is resolved to."""
    name = host.removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        # Numbers alone, as 127.1, ask nobody.
        entries = socket.getaddrinfo(host, None, flags=0 if resolve else socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return False
    addresses = [ip_address(str(entry[4][0]).partition("%")[0]) for entry in entries]
    plain = [getattr(address, "ipv4_mapped", None) or address for address in addresses]
    return all(address.is_loopback or address.is_unspecified for address in plain)
