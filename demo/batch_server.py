"""Serves batches over HTTP on the loopback address and falls silent after some: it accepts, and never answers.

Prints its port, and ends when its standard input closes, so that it never outlives the training.
"""

import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

SILENT_FROM = 400
BATCH = 32


class Batches(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        number = int(self.path.rpartition("/")[2])
        if number >= SILENT_FROM:
            threading.Event().wait()
        images = np.random.default_rng(number).random((BATCH, 65), dtype=np.float32)
        body = images.tobytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: the training's output is what one wants to see."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Batches)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
