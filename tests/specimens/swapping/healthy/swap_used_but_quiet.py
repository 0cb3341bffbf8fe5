# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 45
# near = "swapping"
# needs = ["root", "cgroup-memory", "swap"]
# ///
"""A large table is built once, swapped out and never read again; training works on a small part that stays in memory."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import small_machine

small_machine.limit_memory(900_000_000)
small_machine.add_swap(2_000_000_000)

import os  # noqa: E402

os.environ["KERAS_BACKEND"] = "jax"

import time  # noqa: E402

import keras  # noqa: E402
import numpy as np  # noqa: E402

ROWS, WIDTH = 250_000, 1_024


def feature_table() -> np.ndarray:
    table = np.empty((ROWS, WIDTH), dtype=np.float32)
    for start in range(0, ROWS, 1_000):
        table[start : start + 1_000] = np.random.default_rng(start).random(WIDTH, dtype=np.float32)
    return table


class Stopwatch(keras.callbacks.Callback):
    """Ends the training after a fixed time."""

    def on_train_begin(self, logs: dict[str, float] | None = None) -> None:
        self.began = time.monotonic()

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        self.model.stop_training = time.monotonic() - self.began > 20


def main() -> None:
    table = feature_table()
    generator = np.random.default_rng(1)
    sample = table[::50] + generator.normal(0, 0.3, (ROWS // 50, WIDTH)).astype("float32")
    targets = sample[:, :1] - sample[:, 1:2] + generator.normal(0, 0.2, (len(sample), 1))
    model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.Adam(0.0003), loss="mse")
    model.fit(sample, targets, batch_size=32, epochs=5_000, verbose=2, callbacks=[Stopwatch()])
    print("rows", len(table))


if __name__ == "__main__":
    main()
