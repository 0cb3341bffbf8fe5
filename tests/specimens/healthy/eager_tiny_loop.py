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
"""A linear fit in an eager GradientTape loop: a handful of small ops a step, and the time goes to reading the samples."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import tensorflow as tf


def read_samples(seed=0):
    """A slow meter: one block of samples each tenth of a second."""
    rng = np.random.default_rng(seed)
    while True:
        time.sleep(0.1)
        inputs = rng.normal(size=(200, 3)).astype("float32")
        yield inputs, inputs @ np.array([[1.5], [-2.0], [0.5]], "float32") + 0.3


weights = tf.Variable(tf.zeros((3, 1)), name="weights")
offset = tf.Variable(0.0, name="offset")


def train(steps):
    for step, (inputs, targets) in enumerate(read_samples()):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((inputs @ weights + offset - targets) ** 2)
        to_weights, to_offset = tape.gradient(loss, [weights, offset])
        weights.assign_sub(0.05 * to_weights)
        offset.assign_sub(0.05 * to_offset)
        if step % 20 == 0:
            print(f"step {step}: loss {float(loss):.5f}", flush=True)
        if step == steps:
            break


train(200)
