# /// specimen
# cause = "device_unused"
# also = []
# where = "ON THE PROCESSOR HERE"
# framework = "keras-torch"
# ends = "exits"
# seconds = 40
# near = "cpu_only_on_purpose"
# needs = ["gpu"]
# ///
"""The model is built and trained inside keras.device("cpu"), copied from an example; the graphics card stays idle."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import os

os.environ["KERAS_BACKEND"] = "torch"

import keras  # noqa: E402
import numpy as np  # noqa: E402
from onset import mark  # noqa: E402


def make_data(count: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    inputs = generator.normal(size=(count, 512)).astype("float32")
    return inputs, inputs[:, :8].mean(axis=1, keepdims=True)


def main() -> None:
    inputs, targets = make_data(20_000)
    with keras.device("cpu"):
        model = keras.Sequential([keras.layers.Dense(2_048, activation="relu"), keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse")
        mark()
        model.fit(inputs, targets, batch_size=64, epochs=8, verbose=2)  # ON THE PROCESSOR HERE


if __name__ == "__main__":
    main()
