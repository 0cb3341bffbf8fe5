# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 45
# near = "device_memory_exhausted"
# needs = ["gpu"]
# ///
"""JAX takes 95 % of the card at the start, as it is told, and the training uses a small part of it."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import os

os.environ["KERAS_BACKEND"] = "jax"
os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = "0.95"

import time  # noqa: E402

import keras  # noqa: E402
import numpy as np  # noqa: E402


class Pause(keras.callbacks.Callback):
    """Rests after each epoch, so that the run lasts as long as a real one would be watched."""

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        time.sleep(0.3)


def main() -> None:
    inputs = np.random.default_rng(0).normal(size=(20_000, 64)).astype("float32")
    model = keras.Sequential([keras.layers.Dense(1_024, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    model.fit(inputs, inputs[:, :4].sum(axis=1), batch_size=128, epochs=20, verbose=2, callbacks=[Pause()])


if __name__ == "__main__":
    main()
