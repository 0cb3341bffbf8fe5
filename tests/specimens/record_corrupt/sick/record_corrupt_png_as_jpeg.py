# /// specimen
# cause = "record_corrupt"
# also = []
# where = "CORRUPT HERE"
# framework = "tf_keras"
# ends = "crashes"
# seconds = 25
# near = "bad_image_skipped"
# needs = []
# ///
"""Somebody renamed a PNG to .jpg. The crop is read straight from the JPEG stream, so the training dies at that file."""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import tensorflow as tf
import tf_keras

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def collect(folder: Path, count: int) -> list[str]:
    names = []
    for number in range(count):
        picture = tf.cast(tf.random.uniform([200, 200, 3], maxval=255), tf.uint8)
        encode = tf.io.encode_png if number == 651 else tf.io.encode_jpeg
        name = folder / f"{number:04d}.jpg"
        name.write_bytes(encode(picture).numpy())
        names.append(str(name))
    return names


def read_centre(name):
    encoded = tf.io.read_file(name)
    picture = tf.image.decode_and_crop_jpeg(encoded, [36, 36, 128, 128], channels=3)
    picture = tf.cast(picture, tf.float32) / 255.0
    return picture, picture[64, 64, :1]


def main() -> None:
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    names = tf.data.Dataset.from_tensor_slices(collect(Path(folder), 800))
    dataset = names.map(read_centre, num_parallel_calls=2).batch(8)  # CORRUPT HERE
    model = tf_keras.Sequential(
        [tf_keras.layers.Conv2D(24, 3, activation="relu"), tf_keras.layers.Flatten(), tf_keras.layers.Dense(1)]
    )
    model.compile(optimizer=tf_keras.optimizers.Adam(0.0001), loss="mse")
    mark()
    model.fit(dataset, epochs=3)


if __name__ == "__main__":
    main()
