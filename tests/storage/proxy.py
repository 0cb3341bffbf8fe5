"""Stands between a client and a storage server on loopback, and breaks what it is told to break."""

from __future__ import annotations

import http.client
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, urlsplit

EXPIRED_AMAZON = b"<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"
EXPIRED_GOOGLE = b'{"error": {"code": 401, "message": "Invalid Credentials"}}'
HOP_BY_HOP = {"connection", "transfer-encoding", "content-length", "keep-alive"}


@dataclass
class Fault:
    """What happens to the next requests that fit."""

    kind: str  # status | reset | lost (done, and reset before the answer) | stall | cut (half of it, then silence) | slow | late
    times: int = 10**9
    status: int = 503
    body: bytes = b""
    method: str = ""  # empty: any
    part_of_path: str = ""
    bytes_per_s: int = 0
    after_s: float = 0.0
    met: int = field(default=0, init=False)

    def fits(self, method: str, path: str) -> bool:
        return self.met < self.times and self.method in ("", method) and self.part_of_path in path


class Proxy:
    def __init__(self, upstream: str) -> None:
        self.upstream = urlsplit(upstream).netloc
        self.faults: list[Fault] = []
        self.seen: list[tuple[str, str]] = []  # method and path of every request
        self.at_once = self.max_at_once = 0  # requests
        self.ended = threading.Event()
        self._lock = threading.Lock()
        proxy = self

        class Handler(_Handler):
            owner = proxy

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def fault(self, **given: object) -> Fault:
        made = Fault(**given)  # type: ignore[arg-type]
        self.faults.append(made)
        return made

    def heal(self) -> None:
        """Whoever is being told nothing is let go."""
        self.faults.clear()
        self.ended.set()
        self.ended = threading.Event()
        self.seen.clear()
        self.max_at_once = 0

    def stop(self) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()

    def count(self, change: int) -> None:
        with self._lock:
            self.at_once += change
            self.max_at_once = max(self.max_at_once, self.at_once)

    def next_fault(self, method: str, path: str) -> Fault | None:
        with self._lock:
            self.seen.append((method, path))
            for fault in self.faults:
                if fault.fits(method, path):
                    fault.met += 1
                    return fault
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that gave up is what many of these tests are about."""


class _Handler(BaseHTTPRequestHandler):
    owner: Proxy
    _raw = b""
    protocol_version = "HTTP/1.1"

    def _do(self) -> None:
        self.owner.count(1)
        try:
            self._answered()
        finally:
            self.owner.count(-1)

    def _answered(self) -> None:
        body = self._raw = self._body()
        fault = self.owner.next_fault(self.command, self.path)
        if fault is not None and fault.kind == "status":
            return self._answer(fault.status, {}, fault.body)
        if fault is not None and fault.kind == "reset":
            return self._reset()
        if fault is not None and fault.kind == "stall":
            return self._say_nothing()
        if fault is not None:
            self.owner.ended.wait(fault.after_s)
        if self._is_taken():
            return self._answer(412, {}, b'{"error": {"code": 412, "message": "conditionNotMet"}}')
        status, headers, answer = self._asked(body)
        if fault is not None and fault.kind == "lost":
            return self._reset()
        if fault is not None and fault.kind == "cut" and self.command == "GET":
            self._head(status, headers, len(answer))
            self.wfile.write(answer[: len(answer) // 2])
            self.wfile.flush()
            return self._say_nothing()
        return self._answer(status, headers, answer, fault.bytes_per_s if fault is not None else 0)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = do_PATCH = _do  # noqa: N815  (as http.server calls them)

    def log_message(self, format: str, *arguments: object) -> None:
        return

    def _reset(self) -> None:
        linger = struct.pack("ii", 1, 0)  # closing then sends a reset
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()
        self.close_connection = True

    def _say_nothing(self) -> None:
        self.owner.ended.wait(240)
        self.close_connection = True

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            pieces = []
            while (size := int(self.rfile.readline().split(b";")[0], 16)) > 0:
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(pieces)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _is_taken(self) -> bool:
        """The emulator of Google's storage passes over ifGenerationMatch=0. As documented: 412 where the object is there."""
        asked = urlsplit(self.path)
        query = parse_qs(asked.query)
        if query.get("ifGenerationMatch") != ["0"] or self.command != "POST":
            return False
        name = query.get("name", [""])[0] or self._name_in_body
        status, _, _ = self._forward("GET", f"{asked.path.removeprefix('/upload')}/{quote(name, safe='')}", {}, b"")
        return status == 200

    @property
    def _name_in_body(self) -> str:
        return self._raw.split(b'"name": "', 1)[-1].split(b'"', 1)[0].decode()

    def _asked(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        return self._forward(self.command, self.path, headers, body)

    def _forward(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        upstream = http.client.HTTPConnection(self.owner.upstream, timeout=120)
        try:
            upstream.request(method, path, body or None, headers)
            answer = upstream.getresponse()
            kept = {name: value for name, value in answer.getheaders() if name.lower() not in HOP_BY_HOP}
            if method == "HEAD" and answer.getheader("Content-Length"):
                kept["Content-Length"] = answer.getheader("Content-Length") or "0"
            return answer.status, kept, answer.read()
        finally:
            upstream.close()

    def _head(self, status: int, headers: dict[str, str], length: int) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def _answer(self, status: int, headers: dict[str, str], body: bytes, bytes_per_s: int = 0) -> None:
        self._head(status, headers, len(body))
        if self.command == "HEAD":
            return
        step = max(1, bytes_per_s // 10) if bytes_per_s else max(1, len(body))
        for begin in range(0, len(body), step):
            self.wfile.write(body[begin : begin + step])
            if bytes_per_s:
                self.wfile.flush()
                time.sleep(0.1)
