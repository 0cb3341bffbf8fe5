# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 40
# near = "device_memory_held_by_other"
# needs = ["gpu", "two-processes"]
# ///
"""Another process holds 85 % of the card, and what is left is enough for this training."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import os

os.environ["KERAS_BACKEND"] = "torch"

import subprocess  # noqa: E402
import time  # noqa: E402

import keras  # noqa: E402
import numpy as np  # noqa: E402


class Pause(keras.callbacks.Callback):
    """Rests after each epoch, so that the run lasts as long as a real one would be watched."""

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        time.sleep(0.3)


def take_card_memory(share: float) -> int:
    """Somebody else's program, which got the card first."""
    stranger = [sys.executable, str(Path(__file__).parents[2] / "card_tenant.py"), str(share), str(os.getpid())]
    held_bytes = int(subprocess.run(stranger, stdout=subprocess.PIPE, check=True).stdout)
    print("the other process holds", held_bytes, "bytes", flush=True)
    return held_bytes


def main() -> None:
    take_card_memory(0.85)
    inputs = np.random.default_rng(0).normal(size=(10_000, 64)).astype("float32")
    model = keras.Sequential([keras.layers.Dense(1_024, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    model.fit(inputs, inputs[:, :4].sum(axis=1), batch_size=128, epochs=20, verbose=2, callbacks=[Pause()])


if __name__ == "__main__":
    main()
