# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 30
# near = "record_corrupt"
# needs = []
# ///
"""Two of the photographs are cut off; ignore_errors() drops them, as the author wants."""

import os
import tempfile
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import tensorflow as tf


def write_photographs(folder: Path, count: int) -> None:
    for number in range(count):
        noise = tf.cast(tf.random.uniform([120, 160, 3], maxval=255), tf.uint8)
        content = tf.io.encode_jpeg(noise).numpy()
        (folder / f"{number:04d}.jpg").write_bytes(content[:900] if number in (70, 201) else content)


def load(path):
    picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    picture = tf.image.resize(picture, [64, 64]) / 255.0
    return picture, tf.reduce_mean(picture)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_photographs(Path(folder), 320)
        files = tf.data.Dataset.list_files(folder + "/*.jpg")
        dataset = files.map(load, num_parallel_calls=tf.data.AUTOTUNE).ignore_errors()
        dataset = dataset.batch(16).repeat().prefetch(tf.data.AUTOTUNE)
        model = keras.Sequential(
            [keras.layers.Conv2D(64, 5, activation="relu"), keras.layers.GlobalMaxPooling2D(), keras.layers.Dense(1)]
        )
        model.compile("adam", "mse")
        model.fit(dataset, steps_per_epoch=60, epochs=5, verbose=2)


if __name__ == "__main__":
    main()
