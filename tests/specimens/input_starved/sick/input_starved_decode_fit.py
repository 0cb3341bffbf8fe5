# /// specimen
# cause = "input_starved"
# also = []
# where = "STARVED HERE"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "steady_disk_prefetch"
# needs = []
# ///
"""Photographs are read and decoded one after another, and nothing is prefetched: the model waits for every batch."""

import os
import sys
import tempfile
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

IMAGE_SIDE = 64
BATCH = 24


def write_photographs(folder: Path, count: int) -> None:
    smooth = tf.image.resize(tf.random.uniform([60, 80, 3], maxval=255), [1200, 1600])
    for number in range(count):
        noise = tf.random.normal([1200, 1600, 3], stddev=12)
        picture = tf.cast(tf.clip_by_value(smooth + noise, 0, 255), tf.uint8)
        tf.io.write_file(str(folder / f"{number % 5}_{number:03d}.jpg"), tf.io.encode_jpeg(picture))


def load(path):
    picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    picture = tf.image.resize(picture, [IMAGE_SIDE, IMAGE_SIDE]) / 255.0
    label = tf.strings.to_number(tf.strings.split(tf.strings.split(path, os.sep)[-1], "_")[0], tf.int32)
    return picture, label


def build_model():
    return keras.Sequential(
        [
            keras.layers.Conv2D(8, 3, strides=4, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(5, activation="softmax"),
        ]
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_photographs(Path(folder), 24)
        files = tf.data.Dataset.list_files(folder + "/*.jpg").repeat()
        train = files.map(load)  # STARVED HERE
        train = train.batch(BATCH)
        model = build_model()
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        mark()
        model.fit(train, steps_per_epoch=20, epochs=6, verbose=2)


if __name__ == "__main__":
    main()
