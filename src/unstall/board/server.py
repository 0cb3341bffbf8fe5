"""The board over HTTP: a list, the page of a run, the same as JSON. It answers GET and HEAD, and writes nothing.

GET /                the list                         GET /run/NAME     the page of a run
GET /rows?after=…    what has changed in the list     GET /story/NAME   its story as JSON
GET /runs.json       the list as JSON                 GET /alive        which board this is
"""

from __future__ import annotations

import hashlib
import json
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

import unstall
from unstall.board.access import AccessControl, AccessDecision
from unstall.board.catalogue import Catalogue
from unstall.board.follower import Follower
from unstall.board.pages import ListPage
from unstall.board.rows import DAMAGED
from unstall.journal.writer import replace_not_finite
from unstall.report.html import page

MAX_AT_ONCE = 64  # connections; a browser has a handful
QUIET_S = 30.0  # after which a connection that says nothing is closed
HEADERS = {
    "Cache-Control": "no-cache",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
NOTHING = "default-src 'none'; frame-ancestors 'none'"
SAID_WITH = {
    HTTPStatus.METHOD_NOT_ALLOWED: {"Allow": "GET, HEAD"},
    HTTPStatus.UNAUTHORIZED: {"WWW-Authenticate": "Bearer"},
}
REASONS = {
    HTTPStatus.UNAUTHORIZED: "This board asks for its token. Open the address that `unstall board` has printed.",
    HTTPStatus.MISDIRECTED_REQUEST: "This board answers to the names of this machine only: localhost, 127.0.0.1.",
    HTTPStatus.NOT_FOUND: "There is no such page, or the run is gone.",
    HTTPStatus.METHOD_NOT_ALLOWED: "The board is only for looking: GET and HEAD.",
}


@dataclass(frozen=True)
class Body:
    contents: bytes
    kind: str
    policy: str = NOTHING


@dataclass
class BoardState:
    """What all requests share."""

    folder: Path
    access: AccessControl
    identity: str
    asked_at: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.catalogue = Catalogue(self.folder)
        self.follower = Follower()
        self.list_page = ListPage(self.catalogue)

    def body(self, path: str, query: dict[str, list[str]]) -> Body | None:
        """None: there is nothing there."""
        first, _, rest = path.strip("/").partition("/")
        name = unquote(rest, errors="surrogateescape")
        simple: dict[str, Callable[[], Body]] = {
            "": lambda: _page(self.list_page.whole(), page.load_list_assets().policy),
            "rows": lambda: _json(self.list_page.since(query.get("after", [""])[0])),
            "runs.json": lambda: _json({"runs": self.catalogue.look()}),
            "alive": lambda: _json({"board": self.identity, "version": unstall.__version__}),
        }
        if not rest:
            return simple[first]() if first in simple else None
        if first not in {"run", "story"}:
            return None
        return self._of_run(name, as_page=first == "run")

    def _of_run(self, name: str, as_page: bool) -> Body | None:
        run = self.catalogue.find(name)
        row = next((row for row in self.catalogue.look(is_urgent=run is None) if row["run"] == name), None)
        run = self.catalogue.find(name)
        if row is None or run is None:
            self.follower.forget(name)
            return None
        text, story = self.follower.follow(run, row)
        return _page(text, page.load_board_run_assets().policy) if as_page else _json(story)


def _page(text: str, policy: str) -> Body:
    """The policy stands in the page itself, too; that nobody may frame it can only be said beside it."""
    return Body(text.encode("utf-8", "backslashreplace"), "text/html; charset=utf-8", f"{policy}; frame-ancestors 'none'")


def _json(plain: dict[str, Any]) -> Body:
    return Body(json.dumps(replace_not_finite(plain), allow_nan=False, default=str).encode(), "application/json")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "unstall", ""
    timeout = QUIET_S
    server: Server

    def do_GET(self) -> None:
        board_state = self.server.board_state
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        answer = board_state.access.answer(self.headers, query.get("token", [None])[0])
        if answer is AccessDecision.OTHER_NAME:
            return self._refuse(HTTPStatus.MISDIRECTED_REQUEST)
        if answer is AccessDecision.NO_TOKEN:
            return self._refuse(HTTPStatus.UNAUTHORIZED)
        if answer is AccessDecision.KEEP_TOKEN:
            return self._redirect(parts.path)
        if parts.path != "/alive":
            board_state.asked_at = time.monotonic()
        try:
            body = board_state.body(parts.path, query)
        except (*DAMAGED, OSError) as error:  # odd values in a journal, or it is closed to us: all other pages can be made
            return self._send(
                HTTPStatus.INTERNAL_SERVER_ERROR, _text(f"This run cannot be shown: {type(error).__name__}: {error}")
            )
        if body is None:
            return self._refuse(HTTPStatus.NOT_FOUND)
        return self._send(HTTPStatus.OK, body)

    def do_HEAD(self) -> None:
        self.do_GET()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the library refuses: another method, or what is no request. What it may bring along is not read."""
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else HTTPStatus(code)
        self.close_connection = True
        self._put(status, _text(REASONS.get(status, status.phrase)), {"Connection": "close"})

    def _redirect(self, path: str) -> None:
        """To the same without the token, which the browser keeps from now on."""
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", quote(path, safe="/%") if path.startswith("/run/") else "/")
        self.send_header("Set-Cookie", self.server.board_state.access.set_cookie())
        self.send_header("Content-Length", "0")
        self._end_headers(NOTHING)

    def _refuse(self, status: HTTPStatus) -> None:
        self._send(status, _text(REASONS[status]))

    def _send(self, status: HTTPStatus, body: Body) -> None:
        tag = f'"{hashlib.blake2b(body.contents, digest_size=12).hexdigest()}"'
        if status is HTTPStatus.OK and self.headers.get("If-None-Match") == tag:
            self.send_response(HTTPStatus.NOT_MODIFIED)
            self.send_header("ETag", tag)
            self._end_headers(body.policy)
            return
        self._put(status, body, {"ETag": tag} if status is HTTPStatus.OK else {})

    def _put(self, status: HTTPStatus, body: Body, headers: dict[str, str]) -> None:
        self.send_response(status)
        said = {"Content-Type": body.kind, "Content-Length": str(len(body.contents)), **SAID_WITH.get(status, {}), **headers}
        for name, value in said.items():
            self.send_header(name, value)
        self._end_headers(body.policy)
        if self.command != "HEAD":
            self.wfile.write(body.contents)

    def _end_headers(self, policy: str) -> None:
        for name, value in {**HEADERS, "Content-Security-Policy": policy}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a browser asks every second."""


def _text(words: str) -> Body:
    return Body((words + "\n").encode("utf-8", "backslashreplace"), "text/plain; charset=utf-8")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], board_state: BoardState) -> None:
        self.board_state = board_state
        self._room = threading.Semaphore(MAX_AT_ONCE)
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, Handler)

    def server_bind(self) -> None:
        """Without asking a name server who we are, as the library does."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that has gone away is no error; anything else is said in a line, and the others are served."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError) and sys.stderr is not None:
            sys.stderr.write(f"unstall: board: {type(error).__name__}: {error}\n")
