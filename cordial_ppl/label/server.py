"""The server of the labelling page: it answers that page on this machine, and nobody else.

Every request needs the token that is in the page's address, and names this machine as its host, so
that neither another program nor another site that leads here gets anything; what writes comes from
the page itself. The page may load nothing, and run no script but its own.
"""

import os
import secrets
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Any, Literal

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from cordial_ppl.errors import FileError, InputError
from cordial_ppl.label.advice import Adviser
from cordial_ppl.label.assignment import Assignment, Stale
from cordial_ppl.label.markup import as_tree

LARGEST = 1 << 16
"""Bytes of what the page sends, at most: a note is of a few lines."""

HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
POLICY = (
    "default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


class Asked(msgspec.Struct, forbid_unknown_fields=True):
    """What the page sends; for more texts, nothing."""


class Answered(Asked):
    """An answer."""

    item: str
    event: Literal["label", "unratable", "skip"]
    label: str | None = None
    note: str = ""


class Undone(Asked):
    """The number of the answer that is undone."""

    row: int


def allows(scope: Scope, token: str, hosts: Sequence[str]) -> bool:
    """Return whether a request is the page's.

    Args:
        scope: The request.
        token: The secret in the page's address.
        hosts: What a request may call this machine, with the port.
    """
    request = Request(scope)
    sent, host = request.headers, request.headers.get("host", "")
    secret = sent.get("x-token") or request.query_params.get("token", "")
    if host not in hosts or not secrets.compare_digest(secret.encode(), token.encode()):
        return False
    length = sent.get("content-length", "")
    return request.method in ("GET", "HEAD") or (
        sent.get("origin") == f"http://{host}"
        and sent.get("sec-fetch-site", "same-origin") == "same-origin"
        and sent.get("content-type") == "application/json"
        and length.isdecimal()
        and int(length) < LARGEST
    )


def open_socket(port: int) -> socket.socket:
    """Open a socket that only this machine can reach.

    Args:
        port: Its port; 0 for any that is free.

    Raises:
        InputError: The port is taken, or may not be used.
    """
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        raise InputError(f"cannot use port {port}: {reason}. Choose a different port.") from error


@dataclass
class Page:
    """What the page asks, and the answers.

    Attributes:
        work: The texts and the answers.
        adviser: Judges whether the labels are enough.
        watch: Called after each answer.
    """

    work: Assignment
    adviser: Adviser
    watch: Callable[[], None] = lambda: None

    def make_app(self, token: str, port: int) -> ASGIApp:
        """Make the application, which answers requests with the token and refuses all others."""
        work, hosts = self.work, [f"127.0.0.1:{port}", f"localhost:{port}"]
        gets = {"": self.show, "advice": self.advise, "judge": self.reveal, "state": self.tell}
        acts = {"answer": (Answered, work.answer), "undo": (Undone, work.undo)}
        acts |= {"more": (Asked, work.add)}
        app = Starlette(routes=[Route(f"/{name}", reply) for name, reply in gets.items()])
        for name, each in acts.items():
            app.add_route(f"/{name}", partial(self.act, *each), methods=["POST"])

        async def guard(scope: Scope, receive: Receive, send: Send) -> None:
            reply = app if allows(scope, token, hosts) else Response(status_code=403)
            await reply(scope, receive, send)

        return guard

    async def show(self, _: Request) -> Response:
        """Return the page, whose script and style have a number that is used once."""
        nonce = secrets.token_urlsafe(16)
        headers = HEADERS | {"Content-Security-Policy": POLICY.format(nonce)}
        page = files("cordial_ppl.label").joinpath("page.html").read_text("utf-8")
        return HTMLResponse(page.replace("{nonce}", nonce), headers=headers)

    async def advise(self, _: Request) -> Response:
        """Return what the labels tell so far."""
        return _as_json(self.adviser.latest)

    async def reveal(self, request: Request) -> Response:
        """Return what the judge states of a text that is answered."""
        try:
            return _as_json(self.work.reveal(request.query_params.get("item", "")))
        except InputError as error:
            return _as_json({"problem": str(error)}, 409)

    async def act(self, kind: type[Asked], do: Callable[..., None], request: Request) -> Response:
        """Do what is asked; return what the page shows next, and what went wrong, if anything."""
        try:
            do(**msgspec.structs.asdict(msgspec.json.decode(await request.body(), type=kind)))
        except (InputError, msgspec.MsgspecError) as error:
            status = {Stale: 409, FileError: 507}.get(type(error), 400)
            return await self.tell(problem=str(error), status=status)
        return await self.tell()

    async def tell(self, _: Any = None, problem: str = "", status: int = 200) -> Response:
        """Return all that the page shows, but for the advice, which is looked for meanwhile."""
        work, answers = self.work, self.work.log.count
        self.adviser.tell(answers)
        self.watch()
        text = None
        if (item := work.current) is not None:
            (_, plain), *context = work.show(item).items()
            text = {"item": item, "plain": plain, "tree": as_tree(plain), "context": context}
        state = {"options": work.table.scale.options, "last": work.last, "answers": answers}
        state |= {"annotator": work.log.annotator, "counts": work.counts, "problem": problem}
        return _as_json(state | {"text": text}, status)


def _as_json(content: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(content), status, HEADERS, "application/json")


def serve(page: Page, port: int, say: Callable[[str], None]) -> None:
    """Answer the page until Ctrl-C.

    Args:
        page: The page.
        port: The port; 0 for any that is free.
        say: Called with the page's address.

    Raises:
        InputError: The port cannot be used.
    """
    import uvicorn

    token = secrets.token_urlsafe(24)
    with open_socket(port) as opened:
        port = opened.getsockname()[1]
        app = page.make_app(token, port)
        # No log: it would hold the token.
        settings = {"log_config": None, "access_log": False, "server_header": False}
        server = uvicorn.Server(uvicorn.Config(app, lifespan="off", ws="none", **settings))
        with suppress(KeyboardInterrupt):
            say(f"http://127.0.0.1:{port}/?token={token}")
            server.run(sockets=[opened])
