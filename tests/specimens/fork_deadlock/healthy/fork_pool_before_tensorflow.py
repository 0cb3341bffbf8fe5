# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "fork_deadlock"
# needs = ["two-processes"]
# ///
"""A pool of forked workers made before TensorFlow is imported decodes with NumPy only; the main process waits for each
chunk in pool.map and trains on it."""

import multiprocessing
import os
import time

import numpy as np

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"


def decode(seed: int) -> np.ndarray:
    time.sleep(1.5 if seed % 40 == 0 else 0.02)  # some files are large
    return np.random.default_rng(seed).normal(size=(16, 10)).astype("float32")


def main(pool) -> None:
    import tensorflow as tf

    kernel = tf.Variable(tf.random.normal((10, 1)))

    @tf.function
    def train_step(features):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((features @ kernel - tf.reduce_sum(features, axis=1, keepdims=True)) ** 2)
        kernel.assign_sub(0.01 * tape.gradient(loss, kernel))
        return loss

    for chunk in range(6):
        for batch in pool.map(decode, range(chunk * 40, chunk * 40 + 40)):
            loss = train_step(tf.constant(batch))
            time.sleep(0.05)  # a larger model
        print(f"chunk {chunk} loss {float(loss):.4f}", flush=True)


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as workers:
        main(workers)
