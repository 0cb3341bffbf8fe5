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
"""The dataset has exactly steps_per_epoch times epochs batches and ends with the last step."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

STEPS = 400
EPOCHS = 5
BATCH = 32


def rows(count: int):
    random = np.random.default_rng(0)
    inputs = random.normal(size=(count, 64)).astype("float32")
    return inputs, (inputs[:, 0] > 0).astype("int32")


def main() -> None:
    dataset = tf.data.Dataset.from_tensor_slices(rows(STEPS * EPOCHS * BATCH)).batch(BATCH, drop_remainder=True)
    model = keras.Sequential(
        [keras.layers.Dense(1024, "relu"), keras.layers.Dense(1024, "relu"), keras.layers.Dense(2, "softmax")]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(dataset.prefetch(1), steps_per_epoch=STEPS, epochs=EPOCHS, verbose=2)


if __name__ == "__main__":
    main()
