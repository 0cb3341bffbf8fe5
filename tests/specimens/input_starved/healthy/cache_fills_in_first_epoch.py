# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "input_starved"
# needs = []
# ///
"""The first epoch waits for the decoding, which cache() keeps; the other epochs do not wait at all."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import tensorflow as tf


def encode_pictures(count: int):
    noise = tf.cast(tf.random.uniform([count, 600, 800, 3], maxval=255), tf.uint8)
    return [tf.io.encode_jpeg(picture).numpy() for picture in noise]


def decode(encoded):
    picture = tf.io.decode_jpeg(encoded, channels=3)
    picture = tf.image.resize(picture, [40, 40]) / 255.0
    return picture, tf.reduce_mean(picture)


def main() -> None:
    pictures = tf.data.Dataset.from_tensor_slices(encode_pictures(20)).repeat(60)
    dataset = pictures.map(decode).cache().shuffle(200).batch(16).prefetch(2)
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(2_000, "relu"), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.001), "mse")
    model.fit(dataset, epochs=12, verbose=2)


if __name__ == "__main__":
    main()
