# /// specimen
# cause = "swapping"
# also = ["input_starved", "python_in_pipeline"]
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 60
# near = "swap_used_but_quiet"
# needs = ["root", "cgroup-memory", "swap"]
# ///
"""The feature table is larger than the memory of the job, and batches are drawn from all of it at random.

The kernel swaps rows in and out at every step: steps take many times as long, the processor waits for the disk.
"""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import small_machine

small_machine.limit_memory(700_000_000)
small_machine.add_swap(2_000_000_000)

import os  # noqa: E402

os.environ["KERAS_BACKEND"] = "jax"

from collections.abc import Iterator  # noqa: E402

import keras  # noqa: E402
import numpy as np  # noqa: E402
from onset import mark  # noqa: E402

ROWS, WIDTH = 300_000, 1_024


def feature_table() -> np.ndarray:
    table = np.empty((ROWS, WIDTH), dtype=np.float32)
    for start in range(0, ROWS, 1_000):
        table[start : start + 1_000] = np.random.default_rng(start).random(WIDTH, dtype=np.float32)
    return table


def batches(table: np.ndarray, size: int = 512) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(1)
    while True:
        rows = table[generator.integers(0, len(table), size)]
        yield rows, rows[:, :1] - rows[:, 1:2] + generator.normal(0, 0.2, (size, 1))


def main() -> None:
    table = feature_table()
    model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    mark()
    model.fit(batches(table), steps_per_epoch=20, epochs=70, verbose=2)


if __name__ == "__main__":
    main()
