"""A stand-in for the metadata server of Google's machines, as its documentation describes it: values with marks, and requests that
hang until a value changes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

PREFIX = "/computeMetadata/v1/instance/"


class MetadataServer:
    def __init__(self) -> None:
        self._values = {"preempted": "FALSE", "maintenance-event": "NONE"}
        self._changed = threading.Condition()
        self.hanging = 0  # requests that wait for a change

    def set(self, name: str, value: str) -> None:
        with self._changed:
            self._values[name] = value
            self._changed.notify_all()

    def answered(self, path: str, flavor: str | None) -> tuple[int, str, str]:
        """Status, mark and value."""
        asked = urlsplit(path)
        name, query = asked.path.removeprefix(PREFIX), parse_qs(asked.query)
        if flavor != "Google":
            return 403, "", "Missing Metadata-Flavor:Google header."
        if name not in self._values:
            return 404, "", ""
        with self._changed:
            if query.get("wait_for_change") == ["true"]:
                self.hanging += 1
                timeout_s = float(query.get("timeout_sec", ["3600"])[0])
                self._changed.wait_for(lambda: self._mark(name) != query.get("last_etag", [""])[0], timeout_s)
                self.hanging -= 1
            return 200, self._mark(name), self._values[name]

    def _mark(self, name: str) -> str:
        return self._values[name].encode().hex()[:16]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A listener that has ended is what some of these tests are about."""


@contextmanager
def metadata_server() -> Iterator[tuple[MetadataServer, str]]:
    """It, and its host:port."""
    standing_in = MetadataServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, mark, value = standing_in.answered(self.path, self.headers.get("Metadata-Flavor"))
            self.send_response(status)
            self.send_header("Metadata-Flavor", "Google")
            self.send_header("ETag", mark)
            self.end_headers()
            self.wfile.write(value.encode())

        def log_message(self, format: str, *arguments: object) -> None:
            return

    server = _Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield standing_in, f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
