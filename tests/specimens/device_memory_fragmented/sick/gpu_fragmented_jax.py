# /// specimen
# cause = "device_memory_fragmented"
# also = []
# where = "NEEDS ONE PIECE HERE"
# framework = "keras-jax"
# ends = "crashes"
# seconds = 60
# near = "gpu_almost_full_jax"
# needs = ["gpu"]
# ///
"""Features of many videos fill the card's pool; every second video is dropped, then the rest are joined.

Nearly half of the pool is free, but in holes of one video each, and joining needs one piece.
"""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import os

os.environ["KERAS_BACKEND"] = "jax"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
from onset import mark  # noqa: E402

VIDEOS, WIDTH = 120, 1_024


def pool_rows() -> int:
    """How many rows of features the card's memory pool still has room for."""
    stats = jax.devices()[0].memory_stats()
    return int((stats["bytes_limit"] - stats["bytes_in_use"]) * 0.94) // (WIDTH * 4)


def main() -> None:
    inputs = np.random.default_rng(0).random((2_048, WIDTH), dtype=np.float32)
    model = keras.Sequential([keras.Input((WIDTH,)), keras.layers.Dense(256, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    model.fit(inputs, inputs.mean(axis=1), batch_size=256, epochs=5, verbose=2)
    rows = pool_rows() // VIDEOS
    videos: dict[int, jax.Array] = {}
    for index in range(VIDEOS):
        videos[index] = jnp.full((rows, WIDTH), float(index), dtype=jnp.float32).block_until_ready()
    for index in range(0, VIDEOS, 2):
        del videos[index]
    mark()
    bank = jnp.concatenate([videos[index] for index in sorted(videos)[:50]])  # NEEDS ONE PIECE HERE
    print("bank", bank.block_until_ready().shape)  # NEEDS ONE PIECE HERE: JAX says so only when the result is asked for


if __name__ == "__main__":
    main()
