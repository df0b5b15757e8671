"""A server that speaks OpenAI's protocol: one request, tried until it is answered or hopeless."""

import asyncio
import datetime
import json
import random
import re
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from cordial_ppl.errors import ServerError
from cordial_ppl.live.address import check_address, check_key
from cordial_ppl.live.decoding import Dialect
from cordial_ppl.live.extras import load
from cordial_ppl.live.failures import Refused, Sender, Trouble, failure_of
from cordial_ppl.live.patience import Patience, seconds_after
from cordial_ppl.live.prompt import Messages
from cordial_ppl.live.responses import WRONG, read_completion

SHOWN = 300
"""Characters of a server's own words that a message quotes."""

SECRET = 8
"""Characters from which on a key is a secret: a shorter one is a word such as "none", which servers
without keys are given."""


class Server:
    """A server, while it is asked.

    Args:
        url: Its address up to `/chat/completions`.
        model: The model to ask.
        key: The key; None where none is needed.
        key_variable: The environment variable that holds it, for messages.
        timeout: Seconds to wait for an answer.
        patience: How long to wait before a request is tried again.
        seed: Seed of the jitter.

    Raises:
        InputError: The address is none, or has a secret in it, or the key is no key or would be
            sent where others can read it.
    """

    def __init__(
        self,
        url: str,
        model: str,
        key: str | None = None,
        *,
        key_variable: str = "OPENAI_API_KEY",
        timeout: float = 60.0,
        patience: Patience | None = None,
        seed: int = 0,
    ):
        self._httpx = load("httpx", "server")
        self.url, self.model, self.key_variable = check_address(url), model, key_variable
        self.timeout, self.patience = timeout, patience or Patience()
        self._key = check_key(key, key_variable, self.url)
        self._secret = _as_pattern(self._key) if self._key and len(self._key) >= SECRET else None
        self._rng = random.Random(seed)
        self._resume = 0.0
        self._welcome = False

    async def __aenter__(self) -> "Server":
        """Open connections."""
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        # Who asks says how many requests there are at once.
        limits = self._httpx.Limits(max_connections=None, max_keepalive_connections=None)
        self._client = self._httpx.AsyncClient(headers=headers, timeout=self.timeout, limits=limits)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def complete(
        self, messages: Messages, dialect: Dialect, number: int = 1
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Ask for an answer, and ask again while that may help.

        Args:
            messages: The conversation.
            dialect: What to ask for; what the server does not understand is given up.
            number: Answers that are wanted; fewer may come.

        Returns:
            What was sent besides the conversation, and the response.

        Raises:
            InputError: The key, the model or the address is wrong, or the reader has no
                log-probabilities.
            ServerError: No answer came.
        """
        retry = 0
        while True:
            settings = dialect.payload(number)
            try:
                await self._wait_for_others()
                body = await self._post({"model": self.model, "messages": messages, **settings})
            except Refused as refusal:
                # Others may have lowered what is asked for, while this request was under way.
                if dialect.payload(number) != settings or dialect.give_way(str(refusal), number):
                    continue
                raise
            except Trouble as trouble:
                wait = self.patience.wait(retry, trouble.after, self._rng)
                if wait is None:
                    asked = "" if trouble.after is None else f", wait {trouble.after:.0f} s"
                    raise ServerError(
                        f"{trouble.reason}{asked} (tried {retry + 1} times)"
                    ) from trouble
                retry += 1
                if trouble.after is not None:
                    now = asyncio.get_running_loop().time()
                    self._resume = max(self._resume, now + trouble.after)
                await asyncio.sleep(wait)
                continue
            dialect.settled = self._welcome = True
            return settings, body

    async def _wait_for_others(self) -> None:
        """When the server asked one request to wait, all do."""
        while (left := self._resume - asyncio.get_running_loop().time()) > 0.0:
            await asyncio.sleep(left)

    async def _post(self, content: Mapping[str, Any]) -> dict[str, Any]:
        try:
            # The client's own limit is for the silence between two bytes.
            async with asyncio.timeout(self.timeout):
                response = await self._client.post(f"{self.url}/chat/completions", json=content)
        except (TimeoutError, self._httpx.TimeoutException) as error:
            raise Trouble(f"no answer within {self.timeout:g} s") from error
        except self._httpx.HTTPError as error:
            words = self._plain(str(error) or type(error).__name__)
            raise Trouble(f"no connection to {self.url}: {words}") from error
        if response.status_code == 200:
            return self._read(response)
        raise self._failure(response)

    def _read(self, response: Any) -> dict[str, Any]:
        try:
            # What is kept of an answer never holds the key, not even if the server repeats it.
            return read_completion(json.loads(self._without_key(response.text)))
        except WRONG as error:
            words = self._plain(response.text)
            raise Trouble(f"an answer that is no completion: {words!r}") from error

    def _failure(self, response: Any) -> Exception:
        words, code = self._words(response)
        now = datetime.datetime.now(datetime.UTC)
        after = seconds_after(response.headers.get("retry-after"), now)
        variable = self.key_variable if self._key else None
        sender = Sender(self.url, self.model, variable, self._welcome)
        return failure_of(response.status_code, words, code, after, sender)

    def _words(self, response: Any) -> tuple[str, str]:
        """A server's own words, and its code for what is wrong."""
        try:
            error = response.json()["error"]
            if isinstance(error, str):
                return self._plain(error), ""
            return self._plain(str(error["message"])), str(error.get("code"))
        except WRONG:
            return self._plain(response.text), ""

    def _plain(self, text: str) -> str:
        """Words for a message: on one line, not long, and without the key."""
        text = " ".join(self._without_key(text).split())
        return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."

    def _without_key(self, text: str) -> str:
        return self._secret.sub("[the key]", text) if self._secret else text


def _as_pattern(key: str) -> re.Pattern[str]:
    r"""A key as it is or as JSON may write it: "-" is "\u002d" too, and "/" may be "\/"."""
    each = (rf"(?:\\?{re.escape(own)}|(?i:\\u{ord(own):04x}))" for own in key)
    return re.compile("".join(each))
