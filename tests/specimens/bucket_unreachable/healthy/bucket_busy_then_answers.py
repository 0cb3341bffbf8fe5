# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 30
# near = "bucket_unreachable"
# needs = []
# ///
"""The storage service says that it is busy (503), twice; the library asks again, the data comes and is learned from."""

import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

ROWS = np.random.default_rng(0).normal(size=(24_000, 9)).astype("float32")


class Busy(BaseHTTPRequestHandler):
    """A storage service on loopback."""

    asked = 0

    def do_GET(self) -> None:
        Busy.asked += 1
        body = b"busy" if Busy.asked <= 2 else ROWS.tobytes()
        self.send_response(503 if Busy.asked <= 2 else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        return


def fetch(name: str) -> np.ndarray:
    from gcsfs.core import GCSFileSystem

    files = GCSFileSystem(token="anon", consistency="none")
    return np.frombuffer(files.cat_file(name), dtype="float32")


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Busy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["STORAGE_EMULATOR_HOST"] = f"http://127.0.0.1:{server.server_port}"
    rows = fetch("photos/rows.f32").reshape(-1, 9)
    targets = rows[:, :8].sum(axis=1, keepdims=True)
    model = keras.Sequential([keras.layers.Dense(16, "relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(rows[:, :8], targets, epochs=8, batch_size=64, verbose=0)


if __name__ == "__main__":
    main()
