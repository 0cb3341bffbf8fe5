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
"""After some training the folds are scored in a multiprocessing pool that spawns: its children start Python and
TensorFlow anew, which takes a while, and then they work."""

import multiprocessing
import os
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import tensorflow as tf


def score_fold(seed: int) -> float:
    features = tf.constant(np.random.default_rng(seed).normal(size=(256, 20)).astype("float32"))
    return float(tf.reduce_mean(tf.abs(features @ tf.ones((20, 1)))))


def main() -> None:
    kernel = tf.Variable(tf.random.normal((20, 1)))

    @tf.function
    def train_step(features):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((features @ kernel - tf.reduce_sum(features, axis=1, keepdims=True)) ** 2)
        kernel.assign_sub(0.01 * tape.gradient(loss, kernel))
        return loss

    for epoch in range(6):
        for _ in range(200):
            loss = train_step(tf.random.normal((32, 20)))
            time.sleep(0.01)
        print(f"epoch {epoch} loss {float(loss):.4f}", flush=True)
        if epoch == 2:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print("scores", pool.map(score_fold, range(4)), flush=True)


if __name__ == "__main__":
    main()
