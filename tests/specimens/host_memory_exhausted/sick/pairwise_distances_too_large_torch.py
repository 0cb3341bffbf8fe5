# /// specimen
# cause = "host_memory_exhausted"
# also = []
# where = "ASKS TOO MUCH HERE"
# framework = "keras-torch"
# ends = "crashes"
# seconds = 20
# near = "memory_error_caught_smaller_batch"
# needs = []
# ///
"""After a few good steps a loss for hard negatives compares every anchor with every anchor: 1.6 million squared.

PyTorch's CPU allocator cannot get the 9 TiB for that matrix.
"""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import os

os.environ["KERAS_BACKEND"] = "torch"

import keras  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from onset import mark  # noqa: E402


def nearest_neighbours(embeddings: torch.Tensor) -> torch.Tensor:
    distances = torch.cdist(embeddings, embeddings)  # ASKS TOO MUCH HERE
    return distances.argsort(dim=1)[:, 1:5]


class HardNegatives(keras.callbacks.Callback):
    """Looks for confusing anchors after every epoch."""

    def __init__(self, anchors: np.ndarray) -> None:
        super().__init__()
        self.anchors = torch.from_numpy(anchors)

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        if epoch == 3:
            mark()
            print(nearest_neighbours(self.anchors).shape)


def main() -> None:
    generator = np.random.default_rng(0)
    inputs = generator.normal(size=(2_000, 32)).astype("float32")
    model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    anchors = generator.normal(size=(1_600_000, 4)).astype("float32")
    model.fit(inputs, inputs[:, :1], epochs=8, batch_size=32, callbacks=[HardNegatives(anchors)], verbose=2)


if __name__ == "__main__":
    main()
