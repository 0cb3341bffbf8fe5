# /// specimen
# cause = "input_starved"
# also = []
# where = "STARVED HERE"
# framework = "tf_keras"
# ends = "exits"
# seconds = 40
# near = "steady_disk_prefetch"
# needs = []
# ///
"""Keras 2 with a dataset of JPEGs held in memory: decoding them one by one takes nearly all of every step."""

import os
import sys
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import tensorflow as tf
import tf_keras

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def encode_pictures(count: int) -> list[bytes]:
    pictures = []
    for _ in range(count):
        picture = tf.cast(tf.random.uniform([900, 1200, 3], maxval=255), tf.uint8)
        pictures.append(tf.io.encode_jpeg(picture, quality=90).numpy())
    return pictures


class Loader:
    def __init__(self, side: int) -> None:
        self.side = side

    def decode(self, encoded, label):
        picture = tf.image.decode_jpeg(encoded, channels=3)
        picture = tf.image.resize(picture, (self.side, self.side), antialias=True)
        return tf.cast(picture, tf.float32) / 127.5 - 1.0, label

    def dataset(self, pictures: list[bytes]):
        labels = [number % 2 for number in range(len(pictures))]
        dataset = tf.data.Dataset.from_tensor_slices((pictures, labels)).shuffle(len(pictures)).repeat()
        dataset = dataset.map(self.decode)  # STARVED HERE
        return dataset.batch(12)


def main() -> None:
    dataset = Loader(64).dataset(encode_pictures(24))
    model = tf_keras.Sequential(
        [
            tf_keras.layers.Conv2D(8, 5, strides=4, activation="relu"),
            tf_keras.layers.Flatten(),
            tf_keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(optimizer="sgd", loss="binary_crossentropy")
    mark()
    model.fit(dataset, steps_per_epoch=20, epochs=6)


if __name__ == "__main__":
    main()
