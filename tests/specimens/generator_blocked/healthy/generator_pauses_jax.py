# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 35
# near = "generator_blocked"
# needs = []
# ///
"""Keras on JAX, fit over a generator that asks a service by HTTP. One answer in eighty takes 4 s, because the service
wakes another machine."""

import json
import os
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np


class Labels(BaseHTTPRequestHandler):
    answered = 0

    def do_GET(self) -> None:
        Labels.answered += 1
        if Labels.answered % 150 == 0:
            time.sleep(4)
        body = json.dumps([float(number % 7) for number in range(16)]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def labelled_batches(port: int):
    rng = np.random.default_rng(3)
    for index in range(10**9):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/labels/{index}", timeout=30) as answer:
            labels = np.array(json.load(answer), dtype="float32")[:, None]
        yield rng.normal(size=(16, 10)).astype("float32"), labels


server = ThreadingHTTPServer(("127.0.0.1", 0), Labels)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
slow = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: time.sleep(0.025))  # a larger model
model.fit(labelled_batches(server.server_address[1]), steps_per_epoch=100, epochs=4, verbose=2, callbacks=[slow])
