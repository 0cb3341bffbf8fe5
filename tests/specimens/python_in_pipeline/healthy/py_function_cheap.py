# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 30
# near = "python_in_pipeline"
# needs = []
# ///
"""A tf.py_function in the pipeline that only looks a label up: it costs next to nothing."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

NAMES = {b"cat": 0, b"dog": 1, b"ship": 2}


def look_up(name):
    return np.int64(NAMES[name.numpy()])


def encode(picture, name):
    label = tf.py_function(look_up, [name], tf.int64)
    label.set_shape([])
    return picture, label


def main() -> None:
    random = np.random.default_rng(0)
    pictures = random.random((512, 48, 48, 3), dtype=np.float32)
    names = random.choice(list(NAMES), size=512)
    dataset = tf.data.Dataset.from_tensor_slices((pictures, names)).repeat()
    dataset = dataset.map(encode, num_parallel_calls=2).batch(16).prefetch(2)
    model = keras.Sequential(
        [
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(3, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(dataset, steps_per_epoch=80, epochs=5, verbose=2)


if __name__ == "__main__":
    main()
