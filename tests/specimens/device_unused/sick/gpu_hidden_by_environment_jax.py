# /// specimen
# cause = "device_unused"
# also = []
# where = "HIDDEN HERE"
# framework = "keras-jax"
# ends = "exits"
# seconds = 40
# near = "cpu_only_on_purpose"
# needs = ["gpu"]
# ///
"""A line from an old debugging session hides the graphics card: the training runs on the processor, without a word."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import os

os.environ["KERAS_BACKEND"] = "jax"
os.environ["CUDA_VISIBLE_DEVICES"] = ""  # HIDDEN HERE

import keras  # noqa: E402
import numpy as np  # noqa: E402
from onset import mark  # noqa: E402


def main() -> None:
    generator = np.random.default_rng(0)
    labels = np.arange(2_000) % 4
    images = generator.random((2_000, 48, 48, 3), dtype=np.float32) * (labels[:, None, None, None] + 1) / 4
    model = keras.Sequential(
        [
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.Conv2D(32, 3, strides=2, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(4, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    mark()
    model.fit(images.astype("float32"), labels, batch_size=32, epochs=15, verbose=2)


if __name__ == "__main__":
    main()
