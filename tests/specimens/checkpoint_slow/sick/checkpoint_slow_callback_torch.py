# /// specimen
# cause = "checkpoint_slow"
# also = []
# where = "SAVES HERE"
# framework = "keras-torch"
# ends = "exits"
# seconds = 40
# near = "checkpoint_each_epoch"
# needs = []
# ///
"""An own callback keeps the weights, 150 MB, after every 15th batch; writing them takes most of the time."""

import os
import sys
import tempfile
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


class KeepWeights(keras.callbacks.Callback):
    def __init__(self, path: str, every: int) -> None:
        super().__init__()
        self.path = path
        self.every = every

    def on_train_batch_end(self, batch: int, logs=None) -> None:
        if batch % self.every == 0:
            self.model.save_weights(self.path)  # SAVES HERE


def build_model():
    model = keras.Sequential(
        [
            keras.layers.Embedding(300_000, 128, trainable=False),
            keras.layers.Flatten(),
            keras.layers.Dense(16, "relu"),
            keras.layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.SGD(0.01), "mse")
    return model


def main() -> None:
    torch.set_num_threads(1)  # the machine is shared
    words = np.random.default_rng(0).integers(0, 300_000, size=(10_000, 12))
    lengths = (words % 7).mean(axis=1, keepdims=True).astype("float32")
    model = build_model()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        mark()
        model.fit(
            words,
            lengths,
            batch_size=8,
            epochs=1,
            verbose=2,
            callbacks=[KeepWeights(folder + "/last.weights.h5", every=15)],
        )


if __name__ == "__main__":
    main()
