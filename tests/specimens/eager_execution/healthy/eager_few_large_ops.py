# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 35
# near = "eager_execution"
# needs = []
# ///
"""A linear fit in an eager GradientTape loop: a handful of ops a step on a million numbers each, so the time is the ops' own."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
table = rng.normal(size=(400_000, 32)).astype("float32")
truth = rng.normal(size=(32, 1)).astype("float32")


def blocks(rows=100_000):
    while True:
        for start in range(0, len(table), rows):
            inputs = table[start : start + rows]
            yield inputs, inputs @ truth + 0.3


weights = tf.Variable(tf.zeros((32, 1)), name="weights")
offset = tf.Variable(0.0, name="offset")


def train(steps):
    for step, (inputs, targets) in enumerate(blocks()):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((inputs @ weights + offset - targets) ** 2)
        to_weights, to_offset = tape.gradient(loss, [weights, offset])
        weights.assign_sub(0.05 * to_weights)
        offset.assign_sub(0.05 * to_offset)
        if step % 100 == 0:
            print(f"step {step}: loss {float(loss):.5f}", flush=True)
        if step == steps:
            break


train(700)
