# /// specimen
# cause = "generator_blocked"
# also = []
# where = "BLOCKED HERE"
# framework = "keras-tensorflow"
# ends = "hangs"
# seconds = 45
# near = "guard_fit"
# needs = []
# shape = "guard"
# ///
"""Training under unstall.Guard(): the generator asks a label server that stops answering, with no timeout."""

import os
import socket
import sys
import threading
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

import unstall

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa


def start_label_server(answers):
    """A label server on loopback that answers some requests and then keeps the line open without a word."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = server.accept()
        for number in range(answers):
            connection.recv(1)
            connection.sendall(bytes([number % 2]) * 16)
        connection.recv(1)
        threading.Event().wait()

    threading.Thread(target=serve, daemon=True).start()
    return server.getsockname()


def batches(address, answers):
    labels = socket.create_connection(address)
    rng = np.random.default_rng(0)
    count = 0
    while True:
        labels.sendall(b"?")
        if count == answers:
            mark()
        answer = labels.recv(16)  # BLOCKED HERE
        count += 1
        yield rng.normal(size=(16, 8)).astype("float32"), np.frombuffer(answer, "uint8").astype("float32")[:, None]


model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="adam", loss="binary_crossentropy")
model.fit(
    batches(start_label_server(1500), 1500),
    steps_per_epoch=500,
    epochs=10,
    verbose=2,
    callbacks=[unstall.Guard()],
)
