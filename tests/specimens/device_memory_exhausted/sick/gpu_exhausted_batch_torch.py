# /// specimen
# cause = "device_memory_exhausted"
# also = []
# where = "ASKS TOO MUCH HERE"
# framework = "keras-torch"
# ends = "crashes"
# seconds = 60
# near = "gpu_exhausted_caught_torch"
# needs = ["gpu"]
# ///
"""The batch is made eight times larger again and again, to use the card better, until its activations do not fit."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import os

os.environ["KERAS_BACKEND"] = "torch"

import keras  # noqa: E402
import numpy as np  # noqa: E402
from onset import mark  # noqa: E402

BATCH_SIZES = [4_096, 32_768, 262_144, 2_097_152, 8_388_608]


def build_model() -> keras.Model:
    wide = [keras.layers.Dense(8_192, activation="gelu") for _ in range(4)]
    model = keras.Sequential([keras.Input((16,)), *wide, keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    return model


def train(model: keras.Model, batch_size: int) -> None:
    inputs = np.random.default_rng(0).normal(size=(1_024, 16)).astype("float32")
    inputs = np.tile(inputs, (batch_size // 1_024, 1))
    model.fit(inputs, inputs[:, :1], batch_size=batch_size, epochs=3, verbose=2)  # ASKS TOO MUCH HERE


def main() -> None:
    model = build_model()
    for batch_size in BATCH_SIZES:
        if batch_size >= 2_097_152:
            mark()
        print("batch size", batch_size, flush=True)
        train(model, batch_size)


if __name__ == "__main__":
    main()
