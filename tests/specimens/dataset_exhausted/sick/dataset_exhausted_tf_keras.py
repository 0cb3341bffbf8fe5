# /// specimen
# cause = "dataset_exhausted"
# also = []
# where = "EXHAUSTED HERE"
# framework = "tf_keras"
# ends = "exits"
# seconds = 25
# near = "dataset_ends_exactly"
# needs = []
# ///
"""Keras 2: steps_per_epoch was computed with the wrong batch size, and the dataset does not repeat."""

import os
import sys
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tensorflow as tf
import tf_keras

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

SAMPLES = 48_000
BATCH = 64


def main() -> None:
    random = np.random.default_rng(2)
    inputs = random.normal(size=(SAMPLES, 20)).astype("float32")
    targets = inputs[:, :3].sum(axis=1, keepdims=True)
    dataset = tf.data.Dataset.from_tensor_slices((inputs, targets)).shuffle(SAMPLES).batch(BATCH)
    model = tf_keras.Sequential(
        [
            tf_keras.layers.Dense(1024, activation="relu"),
            tf_keras.layers.Dense(512, activation="relu"),
            tf_keras.layers.Dense(1),
        ]
    )
    model.compile(optimizer="adam", loss="mse")
    steps = SAMPLES // 32
    model.fit(dataset, steps_per_epoch=steps, epochs=4, verbose=2)  # EXHAUSTED HERE
    mark()
    print("mean error", model.evaluate(inputs[:6400], targets[:6400], verbose=0))


if __name__ == "__main__":
    main()
