# /// specimen
# cause = "function_retracing"
# also = []
# where = "COMPILED AGAIN AND AGAIN"
# framework = "keras-jax"
# ends = "exits"
# seconds = 50
# near = "bucketed_sequence_lengths"
# needs = []
# ///
"""Each batch is padded to its own longest sentence; on JAX every new length compiles the whole step again."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa


class Sentences(keras.utils.PyDataset):
    def __init__(self, batches=45, size=4, seed=0):
        super().__init__()
        self.batches = batches
        self.size = size
        self.seed = seed

    def __len__(self):
        return self.batches

    def __getitem__(self, index):
        rng = np.random.default_rng(self.seed + index)
        lengths = rng.integers(5, 3000, self.size)
        words = np.zeros((self.size, lengths.max()), "int32")
        for row, length in zip(words, lengths):
            row[:length] = rng.integers(1, 500, length)
        return words, rng.integers(0, 2, (self.size, 1)).astype("float32")


def build_model():
    model = keras.Sequential(
        [
            keras.layers.Embedding(500, 16),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(optimizer="adam", loss="binary_crossentropy")
    return model


model = build_model()
mark()
model.fit(Sentences(), epochs=1, verbose=2)  # COMPILED AGAIN AND AGAIN
