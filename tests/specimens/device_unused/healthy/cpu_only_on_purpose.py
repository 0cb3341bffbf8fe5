# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "device_unused"
# needs = []
# ///
"""Trains on the processor on purpose: hides the devices that may be there, as the framework's own log confirms."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import os

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402


def make_data(count: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    labels = np.arange(count) % 4
    images = generator.random((count, 48, 48, 3), dtype=np.float32) * (labels[:, None, None, None] + 1) / 4
    return images.astype("float32"), labels


def main() -> None:
    print("devices:", tf.config.list_physical_devices("GPU"))
    images, labels = make_data(1_000)
    with tf.device("/CPU:0"):
        model = keras.Sequential(
            [
                keras.layers.Conv2D(16, 3, activation="relu"),
                keras.layers.GlobalAveragePooling2D(),
                keras.layers.Dense(4, activation="softmax"),
            ]
        )
        model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
        model.fit(images, labels, batch_size=16, epochs=25, verbose=2)


if __name__ == "__main__":
    main()
