# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "generator_blocked"
# needs = []
# ///
"""A server that holds a Keras model and waits in accept(): TensorFlow is loaded, but nobody is training."""

import os
import socket
import threading
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np


def build_model():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(2)])
    model.predict(np.zeros((1, 4), "float32"), verbose=0)
    return model


def client(address):
    for pause in (2, 3, 15):
        time.sleep(pause)
        with socket.create_connection(address) as line:
            line.sendall(np.arange(4, dtype="float32").tobytes())
            line.recv(64)


model = build_model()
server = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=client, args=(server.getsockname(),), daemon=True).start()
print("ready", flush=True)
for number in range(3):
    connection, _ = server.accept()
    with connection:
        features = np.frombuffer(connection.recv(64), "float32")[None]
        answer = model.predict(features, verbose=0)
        connection.sendall(answer.tobytes())
    print("answered", number, answer.round(3).tolist(), flush=True)
