# /// specimen
# cause = "thread_died"
# also = []
# where = "DIED HERE"
# framework = "keras-torch"
# ends = "hangs"
# seconds = 30
# near = "thread_died_and_training_goes_on"
# needs = []
# ///
"""A thread loads batches into a queue. One row has no label: the thread ends with a traceback, and the generator waits for ever."""

import os
import queue
import sys
import threading
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

ready: queue.Queue = queue.Queue(4)


def load() -> None:
    labels = {number: number % 2 for number in range(400) if number != 90}
    for number in range(400):
        rows = np.full((32, 8), number, "float32")
        if number not in labels:
            mark()
        label = labels[number]  # DIED HERE
        ready.put((rows, np.full((32, 1), label, "float32")))
        time.sleep(0.02)


def batches():
    while True:
        yield ready.get()


def main() -> None:
    threading.Thread(target=load, name="loader", daemon=True).start()
    model = keras.Sequential([keras.layers.Rescaling(1 / 400), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.01), "mse")
    model.fit(batches(), steps_per_epoch=100, epochs=4, verbose=2)


if __name__ == "__main__":
    main()
