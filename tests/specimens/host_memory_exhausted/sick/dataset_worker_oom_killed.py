# /// specimen
# cause = "host_memory_exhausted"
# also = ["worker_missing"]
# where = "WAITS FOR A DEAD WORKER"
# framework = "keras-torch"
# ends = "hangs"
# seconds = 40
# near = "memory_flat_near_limit"
# needs = ["root", "cgroup-memory"]
# ///
"""A PyDataset with one worker process; a large picture makes the worker need more memory than the container has.

The kernel kills the worker, the pool starts a new one, but the batch is lost and fit waits for it for ever.
"""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import small_machine

small_machine.limit_memory(1_000_000_000)

import os  # noqa: E402

os.environ["KERAS_BACKEND"] = "torch"

import keras  # noqa: E402
import numpy as np  # noqa: E402
from onset import mark  # noqa: E402


class Pictures(keras.utils.PyDataset):
    """Cuts tiles out of pictures; one of the pictures is a whole-slide scan."""

    def __len__(self) -> int:
        return 200

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        side = 30_000 if index == 60 else 256
        if side > 1_000:
            mark()
        picture = np.ones((side, side, 3), dtype=np.uint8) * (index % 255)
        tiles = picture[:256, :256].reshape(32, -1)[:, :64].astype("float32") / 255.0
        return tiles, np.full((32, 1), index / 200, dtype="float32")


def main() -> None:
    model = keras.Sequential([keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    pictures = Pictures(workers=1, use_multiprocessing=True, max_queue_size=4)
    model.fit(pictures, epochs=3, verbose=2)  # WAITS FOR A DEAD WORKER


if __name__ == "__main__":
    main()
