# /// specimen
# cause = "callback_slow"
# also = []
# where = "TELLS HERE"
# framework = "keras-jax"
# ends = "exits"
# seconds = 45
# near = "callback_waits_for_slow_server"
# needs = []
# ///
"""A callback sends the loss of every batch to a tracker and waits for its answer, which takes a tenth of a second."""

import json
import os
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark


class Tracker(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        time.sleep(0.1)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *said: object) -> None:
        pass


class Track(keras.callbacks.Callback):
    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url

    def on_train_batch_end(self, batch: int, logs=None) -> None:  # TELLS HERE
        result = json.dumps({"batch": batch, "loss": float(logs["loss"])})
        urllib.request.urlopen(self.url, data=result.encode(), timeout=20).read()


server = ThreadingHTTPServer(("127.0.0.1", 0), Tracker)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
rng = np.random.default_rng(2)
features = rng.normal(size=(4096, 32)).astype("float32")
model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
mark()
url = f"http://127.0.0.1:{server.server_port}/"
model.fit(features, features.sum(axis=1, keepdims=True), batch_size=16, epochs=1, verbose=2, callbacks=[Track(url)])
