# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "callback_blocked"
# needs = []
# ///
"""A callback tells a chat of each epoch, and the server takes a quarter of a second to answer; once it takes six. It always answers."""

import os
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np


class Chat(BaseHTTPRequestHandler):
    messages = 0

    def do_POST(self) -> None:
        Chat.messages += 1
        time.sleep(6 if Chat.messages == 4 else 0.25)
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
        urllib.request.urlopen(self.url, data=str(logs).encode(), timeout=20).read()


server = ThreadingHTTPServer(("127.0.0.1", 0), Chat)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
rng = np.random.default_rng(2)
features = rng.normal(size=(8192, 8)).astype("float32")
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
targets = features.sum(axis=1, keepdims=True)
model.fit(features, targets, batch_size=16, epochs=16, verbose=2, callbacks=[Tell(f"http://127.0.0.1:{server.server_port}/")])
