# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 30
# near = "dataset_exhausted"
# needs = []
# ///
"""Filtered rows: Keras learns the number of batches only in epoch 1 and warns there that the input ran out."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf


def rows(count: int):
    random = np.random.default_rng(1)
    inputs = random.normal(size=(count, 64)).astype("float32")
    return inputs, np.abs(inputs[:, :1])


def main() -> None:
    dataset = tf.data.Dataset.from_tensor_slices(rows(16_000))
    dataset = dataset.filter(lambda row, target: row[1] > -1.0).batch(32).prefetch(2)
    model = keras.Sequential([keras.layers.Dense(1024, "relu"), keras.layers.Dense(1024, "relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(dataset, epochs=5, verbose=2)


if __name__ == "__main__":
    main()
