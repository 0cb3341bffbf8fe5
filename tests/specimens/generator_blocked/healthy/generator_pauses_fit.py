# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "generator_blocked"
# needs = []
# ///
"""Keras fit over a generator that reads from a tile server. The server rests for 3.5 s now and then (it rotates its
files), but always goes on."""

import os
import socket
import threading
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

BATCH, FEATURES = 16, 24
BYTES = BATCH * (FEATURES + 1) * 4


def serve(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    rng = np.random.default_rng(0)
    answered = 0
    while connection.recv(1):
        answered += 1
        if answered % 250 == 0:
            time.sleep(3.5)
        connection.sendall(rng.normal(size=BYTES // 4).astype("float32").tobytes())


def read_exactly(connection: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        part = connection.recv(count)
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def batches(address):
    connection = socket.create_connection(address)
    while True:
        connection.sendall(b"n")
        table = np.frombuffer(read_exactly(connection, BYTES), dtype="float32").reshape(BATCH, FEATURES + 1)
        yield table[:, :FEATURES], table[:, FEATURES:]


listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=serve, args=(listener,), daemon=True).start()
model = keras.Sequential([keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
slow = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: time.sleep(0.025))  # a larger model
model.fit(batches(listener.getsockname()), steps_per_epoch=150, epochs=4, verbose=2, callbacks=[slow])
