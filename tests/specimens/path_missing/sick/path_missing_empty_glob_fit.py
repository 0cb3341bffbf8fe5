# /// specimen
# cause = "path_missing"
# also = []
# where = "MISSING HERE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 15
# near = "optional_config_missing"
# needs = []
# ///
"""list_files() is given the folder as it is called on another machine: no file matches."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

PICTURES = "/mnt/fileserver/ships/train/*.jpg"


def load(path):
    picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(picture, [64, 64]) / 255.0, tf.strings.length(path)


def make_dataset():
    files = tf.data.Dataset.list_files(PICTURES)  # MISSING HERE
    return files.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(8).prefetch(1)


def main() -> None:
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    mark()
    model.fit(make_dataset(), epochs=3)


if __name__ == "__main__":
    main()
