# /// specimen
# cause = "python_in_pipeline"
# also = ["input_starved"]
# where = "PYTHON HERE"
# framework = "tf_keras"
# ends = "exits"
# seconds = 40
# near = "py_function_cheap"
# needs = []
# ///
"""A generator builds its batches in Python behind a lock. fit() has 8 workers: seven wait while one computes."""

import os
import sys
import threading
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tf_keras

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

LENGTH = 256


def simulate_walk(seed: int) -> list[float]:
    state, position, path = seed * 7919 + 1, 0.0, []
    for _ in range(LENGTH * 16):  # PYTHON HERE
        state = (state * 1103515245 + 12345) % 2147483648  # PYTHON HERE
        position = 0.9 * position + (1.0 if state & 65536 else -1.0)  # PYTHON HERE
        path.append(position)  # PYTHON HERE
    return path[::16]


class ThreadSafe:
    """Lets several workers share one generator, one at a time."""

    def __init__(self, generator) -> None:
        self.generator = generator
        self.lock = threading.Lock()

    def __iter__(self):
        return self

    def __next__(self):
        with self.lock:
            return next(self.generator)


def walks(batch: int):
    seed = 0
    while True:
        rows = [simulate_walk(seed + number) for number in range(batch)]
        seed += batch
        inputs = np.array(rows, dtype="float32")
        yield inputs, inputs[:, -1:]


def main() -> None:
    model = tf_keras.Sequential([tf_keras.layers.Dense(32, activation="relu"), tf_keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    mark()
    model.fit(ThreadSafe(walks(batch=128)), steps_per_epoch=30, epochs=7, workers=8, verbose=2)


if __name__ == "__main__":
    main()
