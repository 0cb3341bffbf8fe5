# /// specimen
# cause = "batch_ragged"
# also = []
# where = "BATCHED HERE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 60
# near = "batch_ragged_padded_boxes"
# needs = []
# ///
"""Each image has as many boxes as it has objects, and `batch` wants them equal. The error comes from the line that calls fit."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def load(number):
    objects = 1 + number % 4
    return tf.zeros((16, 16, 3)), {"classes": tf.zeros((objects,)), "boxes": tf.zeros((objects, 4))}


def make_dataset(batch_size: int) -> tf.data.Dataset:
    dataset = tf.data.Dataset.range(64)
    dataset = dataset.map(load, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.batch(batch_size)  # BATCHED HERE
    return dataset.prefetch(tf.data.AUTOTUNE)


def main() -> None:
    image = keras.Input((16, 16, 3))
    features = keras.layers.Flatten()(image)
    model = keras.Model(image, {"classes": keras.layers.Dense(1)(features), "boxes": keras.layers.Dense(4)(features)})
    model.compile("sgd", {"classes": "mse", "boxes": "mse"})
    mark()
    model.fit(make_dataset(16), epochs=2, verbose=0)


if __name__ == "__main__":
    main()
