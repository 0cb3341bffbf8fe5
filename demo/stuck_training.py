"""A training as many are: Keras `fit` over a generator that fetches its batches over HTTP, without a timeout.

After 400 batches the server accepts requests and no longer answers. No error is raised; the progress bar stands still.
"""

import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np

BATCH = 32
SERVER = Path(__file__).with_name("batch_server.py")


def fetch(url: str) -> np.ndarray:
    with urllib.request.urlopen(url) as answer:
        table: np.ndarray = np.frombuffer(answer.read(), dtype="float32").reshape(BATCH, 65)
    return table


def batches(address: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    number = 0
    while True:
        table = fetch(f"{address}/batch/{number}")
        yield table[:, :64], table[:, 64:]
        number += 1


def main() -> None:
    server = subprocess.Popen([sys.executable, str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address = f"http://127.0.0.1:{server.stdout.readline().strip()}"
    model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(batches(address), steps_per_epoch=100, epochs=20, shuffle=False, verbose=2)


if __name__ == "__main__":
    main()
