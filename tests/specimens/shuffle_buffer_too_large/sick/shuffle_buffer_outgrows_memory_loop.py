# /// specimen
# cause = "shuffle_buffer_too_large"
# also = ["shuffle_buffer_filling", "python_in_pipeline"]
# where = "TOO LARGE HERE"
# framework = "loop-tensorflow"
# ends = "is killed"
# seconds = 45
# near = "shuffle_buffer_large_but_fits"
# needs = ["root", "cgroup-memory"]
# ///
"""An own loop shuffles 20,000 float volumes of 1.5 MB from a generator: 30 GB, in a job that may use 4.

The first step never comes; it can be known long before the memory is full.
"""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import small_machine

small_machine.limit_memory(4_000_000_000)

import time  # noqa: E402
from collections.abc import Iterator  # noqa: E402

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from onset import mark  # noqa: E402

SHUFFLE = 20_000


def volumes() -> Iterator[np.ndarray]:
    generator = np.random.default_rng(0)
    for _ in range(100_000):
        time.sleep(0.005)  # reading one file
        yield generator.random((72, 72, 72), dtype=np.float32)


def train_step(weights: tf.Variable, optimizer: tf.keras.optimizers.Optimizer, batch: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.reduce_mean(batch, axis=(1, 2)) @ weights - 0.5))
    optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
    return loss


def main() -> None:
    scans = tf.data.Dataset.from_generator(volumes, output_signature=tf.TensorSpec((72, 72, 72), tf.float32))
    scans = scans.shuffle(buffer_size=SHUFFLE).batch(4)  # TOO LARGE HERE
    weights = tf.Variable(tf.zeros((72, 1)))
    optimizer = tf.keras.optimizers.SGD(0.01)
    mark()
    for step, batch in enumerate(scans):
        loss = train_step(weights, optimizer, batch)
        print(f"step {step} loss {float(loss):.4f}", flush=True)


if __name__ == "__main__":
    main()
