# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "shuffle_buffer_filling"
# needs = []
# ///
"""A shuffle buffer of 1,500 decoded pictures takes some 10 s to fill before the first step; then the run trains."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import tensorflow as tf


def encode_pictures(count: int):
    noise = tf.cast(tf.random.uniform([count, 480, 640, 3], maxval=255), tf.uint8)
    return [tf.io.encode_jpeg(picture).numpy() for picture in noise]


def decode(encoded):
    picture = tf.io.decode_jpeg(encoded, channels=3)
    picture = tf.image.resize(picture, [24, 24]) / 255.0
    return picture, tf.reduce_mean(picture)


def main() -> None:
    pictures = tf.data.Dataset.from_tensor_slices(encode_pictures(16)).repeat(100)
    pictures = pictures.map(decode).cache()
    dataset = pictures.shuffle(1_500).repeat().batch(32).prefetch(2)
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(4_000, "relu"), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.001), "mse")
    model.fit(dataset, steps_per_epoch=150, epochs=6, verbose=2)


if __name__ == "__main__":
    main()
