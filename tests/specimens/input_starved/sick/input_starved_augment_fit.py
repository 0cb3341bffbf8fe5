# /// specimen
# cause = "input_starved"
# also = []
# where = "STARVED HERE"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "augment_hidden_by_prefetch"
# needs = []
# ///
"""Every picture goes through a long chain of augmentations, one picture at a time: the model is fed by one core."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def make_data(count: int):
    generator = np.random.default_rng(3)
    pictures = generator.integers(0, 255, size=(count, 256, 256, 3), dtype=np.uint8)
    labels = generator.integers(0, 4, size=(count,))
    return pictures, labels


def augment(picture, label):
    picture = tf.image.convert_image_dtype(picture, tf.float32)
    picture = tf.image.random_flip_left_right(picture)
    picture = tf.image.random_hue(picture, 0.1)
    picture = tf.image.random_saturation(picture, 0.7, 1.3)
    picture = tf.image.resize(picture, [384, 384], method="bicubic")
    picture = tf.image.random_crop(picture, [320, 320, 3])
    picture = tf.image.random_brightness(picture, 0.2)
    picture = tf.image.resize(picture, [96, 96], method="lanczos3", antialias=True)
    return picture, label


def make_dataset():
    dataset = tf.data.Dataset.from_tensor_slices(make_data(128))
    dataset = dataset.repeat().shuffle(64)
    dataset = dataset.map(augment)  # STARVED HERE
    return dataset.batch(16)


def main() -> None:
    model = keras.Sequential(
        [
            keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
            keras.layers.MaxPooling2D(4),
            keras.layers.Flatten(),
            keras.layers.Dense(4),
        ]
    )
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    mark()
    model.fit(make_dataset(), steps_per_epoch=50, epochs=3)


if __name__ == "__main__":
    main()
