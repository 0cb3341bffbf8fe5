# /// specimen
# cause = "dataset_exhausted"
# also = []
# where = "EXHAUSTED HERE"
# framework = "keras-jax"
# ends = "exits"
# seconds = 25
# near = "dataset_ends_exactly"
# needs = []
# ///
"""The generator goes through its rows once; epochs 2 to 5 find it empty and the model is trained on one epoch."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

ROWS = 80_000
BATCH = 32


def batches(rows: np.ndarray):
    for start in range(0, len(rows), BATCH):
        chunk = np.sort(rows[start : start + BATCH] ** 2, axis=1)
        yield chunk[:, :64], chunk[:, 64:65]
    mark()


def main() -> None:
    rows = np.random.default_rng(0).normal(size=(ROWS, 65)).astype("float32")
    model = keras.Sequential(
        [keras.Input((64,)), keras.layers.Dense(1024, "relu"), keras.layers.Dense(1024, "relu"), keras.layers.Dense(1)]
    )
    model.compile("adam", "mse")
    history = model.fit(batches(rows), steps_per_epoch=ROWS // BATCH, epochs=5, verbose=2)  # EXHAUSTED HERE
    print("trained", len(history.history["loss"]), "epochs")


if __name__ == "__main__":
    main()
