# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 35
# near = "input_starved"
# needs = []
# ///
"""The generator takes a third as long as the step, in the shade of the model: JAX computes while the next batch is made."""

import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np


def spectra(size: int):
    random = np.random.default_rng(0)
    while True:
        signals = random.normal(size=(size, 1024))
        inputs = np.abs(np.fft.rfft(signals))[:, :512].astype("float32") / 32
        yield inputs, inputs[:, :1] ** 2


def main() -> None:
    model = keras.Sequential(
        [keras.Input((512,)), keras.layers.Dense(2048, "relu"), keras.layers.Dense(2048, "relu"), keras.layers.Dense(1)]
    )
    model.compile(keras.optimizers.SGD(0.001), "mse")
    model.fit(spectra(256), steps_per_epoch=120, epochs=3, verbose=2)


if __name__ == "__main__":
    main()
