# /// specimen
# cause = "fork_deadlock"
# also = []
# where = "TENSORFLOW IN A FORKED CHILD"
# framework = "loop-tensorflow"
# ends = "hangs"
# seconds = 35
# near = "multiprocessing_spawn_pool"
# needs = ["two-processes"]
# ///
"""After some training the script scores its folds in a multiprocessing pool. The pool forks, so the children inherit
TensorFlow's state without its threads, and wait for threads that are not there."""

import multiprocessing
import os
import sys
import time
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from household import children_die_with_me
from onset import mark

children_die_with_me()

kernel = tf.Variable(tf.random.normal((20, 1)))


@tf.function
def train_step(features, labels):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((features @ kernel - labels) ** 2)
    kernel.assign_sub(0.01 * tape.gradient(loss, kernel))
    return loss


@tf.function
def score(features, labels):
    spread = tf.reduce_mean(tf.linalg.matmul(features, features, transpose_a=True))
    return tf.reduce_mean(tf.abs(features @ kernel - labels)) / spread


def score_fold(seed: int) -> float:
    features = np.random.default_rng(seed).normal(size=(256, 20)).astype("float32")
    labels = features.sum(axis=1, keepdims=True)
    return float(score(tf.constant(features), tf.constant(labels)))  # TENSORFLOW IN A FORKED CHILD


def score_folds() -> list[float]:
    mark()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(score_fold, range(4))


for epoch in range(50):
    for step in range(300):
        features = tf.random.normal((32, 20))
        loss = train_step(features, tf.reduce_sum(features, axis=1, keepdims=True))
        time.sleep(0.003)
    print(f"epoch {epoch} loss {float(loss):.4f}", flush=True)
    if epoch == 2:
        print("scores", score_folds(), flush=True)
