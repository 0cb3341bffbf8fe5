# /// specimen
# cause = "generator_blocked"
# also = []
# where = "BLOCKED HERE"
# framework = "keras-jax"
# ends = "hangs"
# seconds = 30
# near = "generator_pauses_jax"
# needs = []
# ///
"""Keras on JAX, fit over a generator that asks a label service by HTTP for each batch, without a timeout. The service
accepts one request and never answers it."""

import json
import os
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark


class Labels(BaseHTTPRequestHandler):
    answered = 0

    def do_GET(self) -> None:
        if Labels.answered == 300:
            mark()
            threading.Event().wait()
        Labels.answered += 1
        body = json.dumps([float(number % 7) for number in range(16)]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def ask_labels(port: int, index: int) -> np.ndarray:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/labels/{index}") as answer:  # BLOCKED HERE
        return np.array(json.load(answer), dtype="float32")[:, None]


def labelled_batches(port: int):
    rng = np.random.default_rng(3)
    for index in range(10**9):
        yield rng.normal(size=(16, 10)).astype("float32"), ask_labels(port, index)


server = ThreadingHTTPServer(("127.0.0.1", 0), Labels)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(labelled_batches(server.server_address[1]), steps_per_epoch=100, epochs=50, verbose=2)
