# /// specimen
# cause = "record_corrupt"
# also = []
# where = "CORRUPT HERE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 25
# near = "bad_image_skipped"
# needs = []
# ///
"""One photograph was cut off by a broken download. The training dies at it after some dozen steps."""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def download(folder: Path, count: int) -> None:
    for number in range(count):
        noise = tf.cast(tf.random.uniform([240, 320, 3], maxval=255), tf.uint8)
        content = tf.io.encode_jpeg(noise).numpy()
        if number == count - 7:
            content = content[: len(content) // 3]
        (folder / f"photo_{number:04d}.jpg").write_bytes(content)


def load(path):
    picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    picture = tf.image.resize(picture, [64, 64]) / 255.0
    return picture, tf.reduce_mean(picture)


def main() -> None:
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    download(Path(folder), 600)
    files = tf.data.Dataset.list_files(folder + "/*.jpg", shuffle=False)
    dataset = files.map(load, num_parallel_calls=tf.data.AUTOTUNE)  # CORRUPT HERE
    dataset = dataset.batch(8).prefetch(tf.data.AUTOTUNE)
    model = keras.Sequential(
        [keras.layers.Conv2D(96, 3, activation="relu"), keras.layers.GlobalMaxPooling2D(), keras.layers.Dense(1)]
    )
    model.compile("adam", "mse")
    mark()
    model.fit(dataset, epochs=3, verbose=2)


if __name__ == "__main__":
    main()
