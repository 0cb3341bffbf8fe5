# /// specimen
# cause = "shuffle_buffer_filling"
# also = []
# where = "FILLING HERE"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "shuffle_fills_quickly"
# needs = []
# ///
"""shuffle() stands behind the decoding with a buffer of 500,000 pictures: no step until all of them are decoded."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def encode_pictures(count: int):
    noise = tf.cast(tf.random.uniform([count, 480, 640, 3], maxval=255), tf.uint8)
    return [tf.io.encode_jpeg(picture).numpy() for picture in noise]


def decode(encoded):
    picture = tf.io.decode_jpeg(encoded, channels=3)
    picture = tf.image.resize(picture, [24, 24]) / 255.0
    return picture, tf.reduce_mean(picture)


def make_dataset():
    dataset = tf.data.Dataset.from_tensor_slices(encode_pictures(16)).repeat()
    dataset = dataset.map(decode)
    dataset = dataset.shuffle(buffer_size=500_000)  # FILLING HERE
    return dataset.batch(32).prefetch(2)


def main() -> None:
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    train = make_dataset()
    mark()
    model.fit(train, steps_per_epoch=200, epochs=3)


if __name__ == "__main__":
    main()
