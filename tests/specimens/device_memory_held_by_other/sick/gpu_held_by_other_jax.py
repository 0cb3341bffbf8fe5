# /// specimen
# cause = "device_memory_held_by_other"
# also = []
# where = "DOES NOT FIT HERE"
# framework = "keras-jax"
# ends = "crashes"
# seconds = 60
# near = "gpu_almost_full_jax"
# needs = ["gpu", "two-processes"]
# ///
"""A process left over from yesterday holds most of the card; the same training ran well on the empty card."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import os

os.environ["KERAS_BACKEND"] = "jax"

import subprocess  # noqa: E402

import keras  # noqa: E402
import numpy as np  # noqa: E402
from onset import mark  # noqa: E402

WIDTH = 8_192


def take_card_memory(share: float) -> int:
    """Somebody else's program, which got the card first."""
    stranger = [sys.executable, str(Path(__file__).parents[2] / "card_tenant.py"), str(share), str(os.getpid())]
    held_bytes = int(subprocess.run(stranger, stdout=subprocess.PIPE, check=True).stdout)
    print("the other process holds", held_bytes, "bytes", flush=True)
    return held_bytes


def main() -> None:
    held_bytes = take_card_memory(0.92)
    model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(WIDTH, activation="gelu"), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    rows = held_bytes // 10 // (WIDTH * 4)
    inputs = np.tile(np.random.default_rng(0).random((1_024, 16), dtype=np.float32), (rows // 1_024, 1))
    mark()
    model.fit(inputs, inputs[:, :1], batch_size=len(inputs), epochs=3, verbose=2)  # DOES NOT FIT HERE


if __name__ == "__main__":
    main()
