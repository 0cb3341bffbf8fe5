# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 60
# near = "host_memory_leaking"
# needs = []
# ///
"""A replay memory of 3,000 frames fills evenly, through very many short fits, until it is full; then it is overwritten."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import random
import time

import keras
import numpy as np

CAPACITY = 3_000


class ReplayMemory:
    """The last frames that were seen, in a ring."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.frames: list[np.ndarray] = []
        self.position = 0

    def push(self, frame: np.ndarray) -> None:
        if len(self.frames) < self.capacity:
            self.frames.append(frame)
        else:
            self.frames[self.position] = frame
        self.position = (self.position + 1) % self.capacity

    def sample(self, count: int) -> np.ndarray:
        return np.stack([random.choice(self.frames) for _ in range(count)])


def main() -> None:
    random.seed(0)
    generator = np.random.default_rng(0)
    memory = ReplayMemory(CAPACITY)
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.Adam(0.0001), loss="mse")
    began, rounds = time.monotonic(), 0
    while time.monotonic() - began < 40:
        for _ in range(24):
            memory.push(generator.random((84, 84, 4), dtype=np.float32))
        batch = memory.sample(32)
        history = model.fit(batch, batch.mean(axis=(1, 2, 3)), batch_size=8, epochs=1, verbose=0)
        rounds += 1
        if rounds % 40 == 0:
            print(f"round {rounds} frames {len(memory.frames)} loss {history.history['loss'][-1]:.4f}", flush=True)


if __name__ == "__main__":
    main()
