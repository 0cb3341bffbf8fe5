# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 60
# near = "batch_ragged"
# needs = []
# ///
"""Images of different sizes, cut to one size before they are stacked."""

import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np


class Images(keras.utils.PyDataset):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> tuple:
        images = [np.zeros((24, 24 + number % 5, 3), "float32")[:, :24] for number in range(4)]
        return np.stack(images), np.zeros((4, 1), "float32")


model = keras.Sequential([keras.Input((24, 24, 3)), keras.layers.Flatten(), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(Images(), epochs=1, verbose=0)
