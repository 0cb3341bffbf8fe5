# /// specimen
# cause = "dataset_exhausted"
# also = []
# where = "EXHAUSTED HERE"
# framework = "keras-torch"
# ends = "exits"
# seconds = 25
# near = "dataset_ends_exactly"
# needs = []
# ///
"""The steps of an epoch were counted before the bad rows are dropped, so the generator ends in the middle of epoch 3."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

BATCH = 16
EPOCHS = 4


def good_rows(rows: np.ndarray) -> np.ndarray:
    return rows[rows[:, 0] > -0.6]


def training_batches(rows: np.ndarray):
    for _ in range(EPOCHS):
        kept = good_rows(rows)
        for start in range(0, len(kept) - BATCH, BATCH):
            chunk = kept[start : start + BATCH]
            yield chunk[:, :-1], chunk[:, -1:]
    mark()


def main() -> None:
    torch.set_num_threads(1)  # the machine is shared
    rows = np.random.default_rng(5).normal(size=(BATCH * 500, 33)).astype("float32")
    model = keras.Sequential([keras.layers.Dense(256, "relu"), keras.layers.Dense(256, "relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    steps = len(rows) // BATCH
    model.fit(training_batches(rows), steps_per_epoch=steps, epochs=EPOCHS, verbose=2)  # EXHAUSTED HERE


if __name__ == "__main__":
    main()
