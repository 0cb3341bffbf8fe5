# /// specimen
# cause = "bucket_unreachable"
# also = []
# where = "DENIED HERE"
# framework = "keras-jax"
# ends = "crashes"
# seconds = 25
# near = "bucket_busy_then_answers"
# needs = []
# ///
"""The account of the machine was not given the bucket: the first object of the data is refused, and the program dies."""

import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


class Refuses(BaseHTTPRequestHandler):
    """A storage service on loopback."""

    def do_GET(self) -> None:
        body = b'{"error": {"code": 403, "message": "no storage.objects.get access"}}'
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        return


def fetch(name: str) -> np.ndarray:
    from gcsfs.core import GCSFileSystem

    files = GCSFileSystem(token="anon")
    return np.frombuffer(files.cat_file(name), dtype="float32")  # DENIED HERE


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refuses)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["STORAGE_EMULATOR_HOST"] = f"http://127.0.0.1:{server.server_port}"
    model = keras.Sequential([keras.layers.Dense(16, "relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    mark()
    rows = fetch("photos/rows.f32").reshape(-1, 9)
    model.fit(rows[:, :8], rows[:, 8:], epochs=10, verbose=0)


if __name__ == "__main__":
    main()
