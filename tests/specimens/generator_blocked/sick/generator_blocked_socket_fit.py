# /// specimen
# cause = "generator_blocked"
# also = []
# where = "BLOCKED HERE"
# framework = "keras-tensorflow"
# ends = "hangs"
# seconds = 30
# near = "generator_pauses_fit"
# needs = []
# ///
"""Keras fit over a generator that fetches its batches from a tile server. After some batches the server goes silent: it
keeps the connection open and sends nothing, and the read has no timeout."""

import os
import socket
import sys
import threading
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark

BATCH, FEATURES = 16, 24
BYTES = BATCH * (FEATURES + 1) * 4


def serve(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    rng = np.random.default_rng(0)
    for _ in range(400):
        connection.recv(1)
        connection.sendall(rng.normal(size=BYTES // 4).astype("float32").tobytes())
    connection.recv(1)
    mark()
    threading.Event().wait()


def read_exactly(connection: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        part = connection.recv(count)  # BLOCKED HERE
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def fetch_batch(connection: socket.socket) -> tuple[np.ndarray, np.ndarray]:
    connection.sendall(b"n")
    table = np.frombuffer(read_exactly(connection, BYTES), dtype="float32").reshape(BATCH, FEATURES + 1)
    return table[:, :FEATURES], table[:, FEATURES:]


def batches(address):
    connection = socket.create_connection(address)
    while True:
        yield fetch_batch(connection)


listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=serve, args=(listener,), daemon=True).start()
model = keras.Sequential([keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(batches(listener.getsockname()), steps_per_epoch=300, epochs=50, verbose=2)
