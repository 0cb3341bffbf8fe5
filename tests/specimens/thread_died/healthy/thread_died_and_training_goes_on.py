# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 30
# near = "thread_died"
# needs = []
# ///
"""A helper thread that counts files ends with an error; the thread that loads batches lives, pauses for a while and goes on."""

import os
import queue
import threading
import time

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch

ready: queue.Queue = queue.Queue(4)


def count() -> None:
    time.sleep(4)
    os.listdir("/no/such/folder")


def load() -> None:
    for number in range(1000):
        if number == 500:
            time.sleep(2)
        ready.put((np.full((32, 8), number % 7, "float32"), np.full((32, 1), number % 2, "float32")))


def batches():
    while True:
        yield ready.get()


def main() -> None:
    torch.set_num_threads(1)  # the machine is shared
    threading.Thread(target=count, name="counter", daemon=True).start()
    threading.Thread(target=load, name="loader", daemon=True).start()
    model = keras.Sequential([keras.layers.Rescaling(1 / 7), keras.layers.Dense(256, "relu"), keras.layers.Dense(256, "relu"), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.01), "mse")
    model.fit(batches(), steps_per_epoch=250, epochs=4, verbose=2)


if __name__ == "__main__":
    main()
