# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "input_starved"
# needs = []
# ///
"""Augmentation keeps one core busy, but runs ahead of the model and never makes it wait for long."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf


def augment(picture, label):
    picture = tf.image.random_flip_left_right(picture)
    picture = tf.image.random_hue(picture, 0.1)
    picture = tf.image.random_crop(picture, [72, 72, 3])
    return picture, label


def main() -> None:
    random = np.random.default_rng(3)
    pictures = random.random((256, 80, 80, 3), dtype=np.float32)
    labels = (pictures.mean(axis=(1, 2, 3)) > 0.5).astype("int32")
    dataset = tf.data.Dataset.from_tensor_slices((pictures, labels)).repeat().shuffle(64)
    dataset = dataset.map(augment, num_parallel_calls=tf.data.AUTOTUNE).batch(16).prefetch(4)
    model = keras.Sequential(
        [
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(2),
        ]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(dataset, steps_per_epoch=40, epochs=5, verbose=2)


if __name__ == "__main__":
    main()
