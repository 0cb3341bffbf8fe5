# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 35
# near = "device_memory_exhausted"
# needs = []
# ///
"""Trains on old log lines: what it prints is full of "out of memory" and "Killed", and nothing of it is its own."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import os

os.environ["KERAS_BACKEND"] = "jax"

import time  # noqa: E402
import warnings  # noqa: E402

import keras  # noqa: E402
import numpy as np  # noqa: E402

LOG_LINES = [
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.78 GiB",
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.",
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.53GiB with freed_by_count=0. The caller indicates that this is not a failure, but this may mean that there could be performance gains if more memory were available.",
    "Memory cgroup out of memory: Killed process 4390 (python) total-vm:325092kB, anon-rss:306432kB",
    "MemoryError: Unable to allocate 256. MiB for an array with shape (65536, 1024)",
    "epoch 3 finished, validation loss 0.31",
    "saved checkpoint 12",
    "worker 2 joined",
]


def vectorise(lines: list[str]) -> np.ndarray:
    counts = np.zeros((len(lines), 64), dtype=np.float32)
    for row, line in enumerate(lines):
        for word in line.lower().split():
            counts[row, sum(word.encode()) % 64] += 1
    return counts / (1 + counts.sum(axis=1, keepdims=True))


class ShowExamples(keras.callbacks.Callback):
    """Prints a few lines after each epoch, and takes a rest."""

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        print(f"example of class {epoch % 8 < 5}: {LOG_LINES[epoch % 8]}", flush=True)
        if epoch == 3:
            warnings.warn("out of memory lines are over-represented in the set", stacklevel=2)
        time.sleep(0.1)


def main() -> None:
    lines = LOG_LINES * 200
    labels = np.array([index % 8 < 5 for index in range(len(lines))], dtype=np.float32)
    model = keras.Sequential([keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
    model.compile(optimizer=keras.optimizers.Adam(0.0005), loss="binary_crossentropy")
    model.fit(vectorise(lines), labels, batch_size=16, epochs=110, verbose=2, callbacks=[ShowExamples()])


if __name__ == "__main__":
    main()
