# /// specimen
# cause = "host_memory_exhausted"
# also = []
# where = "ASKS TOO MUCH HERE"
# framework = "loop-tensorflow"
# ends = "crashes"
# seconds = 25
# near = "memory_error_caught_smaller_batch"
# needs = []
# ///
"""The batch system gives each job a fixed address space (ulimit -v); the feature cache grows batch by batch past it.

NumPy cannot allocate the next, doubled array and raises MemoryError.
"""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import resource

import numpy as np
import tensorflow as tf
from onset import mark

JOB_MEMORY_BYTES = 700_000_000


def limit_address_space(extra_bytes: int) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + extra_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


class FeatureCache:
    """All features seen so far, in one growing array."""

    def __init__(self, width: int) -> None:
        self.rows = np.empty((4_096, width), dtype=np.float32)
        self.used = 0

    def add(self, features: np.ndarray) -> None:
        while self.used + len(features) > len(self.rows):
            larger = np.zeros((2 * len(self.rows), self.rows.shape[1]), dtype=np.float32)  # ASKS TOO MUCH HERE
            larger[: self.used] = self.rows[: self.used]
            self.rows = larger
        self.rows[self.used : self.used + len(features)] = features
        self.used += len(features)


def main() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1_024, activation="relu"), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.SGD(0.01)
    batches = tf.data.Dataset.range(2_000).map(lambda seed: tf.random.stateless_normal((512, 64), [seed, 0]))
    cache = FeatureCache(1_024)
    model(tf.zeros((1, 64)))
    limit_address_space(JOB_MEMORY_BYTES)
    mark()
    for step, batch in enumerate(batches):
        with tf.GradientTape() as tape:
            features = model.layers[0](batch)
            loss = tf.reduce_mean(tf.square(model.layers[1](features) - 1.0))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        cache.add(features.numpy())
        if step % 20 == 0:
            print(f"step {step} loss {float(loss):.4f} rows {cache.used}", flush=True)


if __name__ == "__main__":
    main()
