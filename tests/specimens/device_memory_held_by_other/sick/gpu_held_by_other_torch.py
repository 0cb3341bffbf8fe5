# /// specimen
# cause = "device_memory_held_by_other"
# also = []
# where = "DOES NOT FIT HERE"
# framework = "keras-torch"
# ends = "crashes"
# seconds = 45
# near = "gpu_shared_but_enough_torch"
# needs = ["gpu", "two-processes"]
# ///
"""A process left over from yesterday holds most of the card; a training that needs a fifth of it finds too little."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import os

os.environ["KERAS_BACKEND"] = "torch"

import subprocess  # noqa: E402

import keras  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from onset import mark  # noqa: E402

WIDTH = 8_192


def take_card_memory(share: float) -> int:
    """Somebody else's program, which got the card first."""
    stranger = [sys.executable, str(Path(__file__).parents[2] / "card_tenant.py"), str(share), str(os.getpid())]
    held_bytes = int(subprocess.run(stranger, stdout=subprocess.PIPE, check=True).stdout)
    print("the other process holds", held_bytes, "bytes", flush=True)
    return held_bytes


def main() -> None:
    total_bytes = torch.cuda.get_device_properties(0).total_memory
    take_card_memory(0.9)
    rows = int(total_bytes * 0.05) // (WIDTH * 4)
    model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(WIDTH, activation="gelu"), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    inputs = np.tile(np.random.default_rng(0).random((1_024, 16), dtype=np.float32), (rows // 1_024, 1))
    model.fit(inputs[:2_048], inputs[:2_048, :1], batch_size=512, epochs=2, verbose=2)
    mark()
    model.fit(inputs, inputs[:, :1], batch_size=len(inputs), epochs=2, verbose=2)  # DOES NOT FIT HERE


if __name__ == "__main__":
    main()
