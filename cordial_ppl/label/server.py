"""The server of the labelling page: it answers that page on this machine, and nobody else.

Every request needs the token that is in the page's address, and names this machine as its host, so
that neither another program nor another site that leads here gets anything; what writes comes from
the page itself. The page may load nothing, and run no script but its own.
"""

import secrets
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
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


class Answered(msgspec.Struct, forbid_unknown_fields=True):
    """An answer that the page sends."""

    item: str
    event: Literal["label", "unratable", "skip"]
    label: str | None = None
    note: str = ""


class Undone(msgspec.Struct, forbid_unknown_fields=True):
    """The number of the answer that is undone."""

    row: int


class Guard:
    """Refuse, without a word, requests that are not the page's.

    Args:
        app: What answers the others.
        token: The secret in the page's address.
        hosts: What a request may call this machine, with the port.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: Sequence[str]):
        self.app, self.token, self.hosts = app, token.encode(), hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan" or (scope["type"] == "http" and self._allows(scope)):
            return await self.app(scope, receive, send)
        if scope["type"] == "http":
            await Response(status_code=403)(scope, receive, send)

    def _allows(self, scope: Scope) -> bool:
        request = Request(scope)
        host, sent = request.headers.get("host", ""), request.headers
        token = sent.get("x-token") or request.query_params.get("token", "")
        if not secrets.compare_digest(token.encode(), self.token) or host not in self.hosts:
            return False
        if request.method in ("GET", "HEAD"):
            return True
        here = sent.get("origin") == f"http://{host}"
        here &= sent.get("sec-fetch-site", "same-origin") == "same-origin"
        length = sent.get("content-length", "")
        short = length.isdecimal() and int(length) < LARGEST
        return here and short and sent.get("content-type") == "application/json"


def open_socket(port: int) -> socket.socket:
    """Open a socket that this machine alone can reach.

    Args:
        port: Its port; 0 for any that is free.

    Raises:
        InputError: The port is taken, or may not be used.
    """
    opened = socket.socket()
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(("127.0.0.1", port))
        opened.listen()
    except OSError as error:
        opened.close()
        raise InputError(f"port {port} cannot be used: {error.strerror}.") from error
    return opened


class Page:
    """What the page asks, and the answers.

    Args:
        work: The texts and the answers.
        adviser: Says whether the labels are enough.
    """

    watch: Callable[[], None] = staticmethod(lambda: None)
    """Called after each answer."""

    def __init__(self, work: Assignment, adviser: Adviser):
        self.work, self.adviser = work, adviser
        self.template = files("cordial_ppl.label").joinpath("page.html").read_text("utf-8")

    def make_app(self, token: str, port: int) -> ASGIApp:
        """Make the application, which answers at a port of this machine whoever has the token."""
        routes = [
            Route("/", self.show),
            Route("/advice", self.advise),
            Route("/judge", self.reveal),
        ]
        routes.append(Route("/state", partial(self.reply, act=lambda _: None)))
        posts = {"/answer": self.answer, "/undo": self.undo, "/more": lambda _: self.work.add()}
        for path, act in posts.items():
            routes.append(Route(path, partial(self.reply, act=act), methods=["POST"]))
        hosts = [f"127.0.0.1:{port}", f"localhost:{port}"]
        return Guard(Starlette(routes=routes), token, hosts)

    async def show(self, _: Request) -> Response:
        """Return the page, whose script and style have a number that is used once."""
        nonce = secrets.token_urlsafe(16)
        headers = HEADERS | {"Content-Security-Policy": POLICY.format(nonce)}
        return HTMLResponse(self.template.replace("{nonce}", nonce), headers=headers)

    async def advise(self, _: Request) -> Response:
        """Return what the labels tell so far."""
        return _as_json(self.adviser.latest)

    async def reveal(self, request: Request) -> Response:
        """Return what the judge states of a text that is answered."""
        try:
            return _as_json(self.work.reveal(request.query_params.get("item", "")))
        except InputError as error:
            return _as_json({"problem": str(error)}, 409)

    async def reply(self, request: Request, act: Callable[[bytes], None]) -> Response:
        """Do what is asked, then return what the page shows next, and what went wrong if it did."""
        status, problem = 200, ""
        try:
            act(await request.body())
        except (InputError, msgspec.MsgspecError) as error:
            kinds = {Stale: 409, FileError: 507}
            status, problem = kinds.get(type(error), 400), str(error)
        return _as_json(self._find_state() | {"problem": problem}, status)

    def answer(self, body: bytes) -> None:
        """Keep an answer."""
        posted = msgspec.json.decode(body, type=Answered)
        self.work.answer(posted.item, posted.event, posted.label, posted.note)
        self._tell()

    def undo(self, body: bytes) -> None:
        """Undo the last answer."""
        self.work.undo(msgspec.json.decode(body, type=Undone).row)
        self._tell()

    def _tell(self) -> None:
        """Tell whoever waits for answers."""
        self.adviser.tell(self.work.log.count)
        self.watch()

    def _find_state(self) -> dict[str, Any]:
        """Return all that the page shows, but for the advice."""
        work = self.work
        state: dict[str, Any] = {"options": work.table.scale.options, "last": work.last}
        state |= {"annotator": work.log.annotator, "counts": work.counts, "text": None}
        state |= {"answers": work.log.count}
        if (item := work.current) is not None:
            (_, text), *context = work.show(item).items()
            state["text"] = {"item": item, "plain": text, "tree": as_tree(text), "context": context}
        return state


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
        page.adviser.end()
