# /// specimen
# cause = "callback_blocked"
# also = []
# where = "WAITS HERE"
# framework = "keras-tensorflow"
# ends = "hangs"
# seconds = 30
# near = "callback_waits_for_slow_server"
# needs = []
# ///
"""A callback tells a chat of each epoch. From the fourth message on the server takes the connection and never answers, and
urlopen without a timeout waits for ever."""

import os
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark


class Chat(BaseHTTPRequestHandler):
    messages = 0

    def do_POST(self) -> None:
        Chat.messages += 1
        if Chat.messages > 3:
            mark()
            threading.Event().wait()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *said: object) -> None:
        pass


class Tell(keras.callbacks.Callback):
    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url

    def on_epoch_end(self, epoch: int, logs=None) -> None:
        urllib.request.urlopen(self.url, data=str(logs).encode()).read()  # WAITS HERE


server = ThreadingHTTPServer(("127.0.0.1", 0), Chat)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
rng = np.random.default_rng(2)
features = rng.normal(size=(2048, 8)).astype("float32")
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
targets = features.sum(axis=1, keepdims=True)
model.fit(features, targets, batch_size=16, epochs=50, verbose=2, callbacks=[Tell(f"http://127.0.0.1:{server.server_port}/")])
