# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 90
# near = "variable_created_in_step"
# needs = []
# ///
"""A compiled function that makes a variable in its first call alone, and keeps it."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import tensorflow as tf


class Counter(tf.Module):
    def __init__(self):
        self.total = None

    @tf.function
    def __call__(self, x):
        if self.total is None:
            self.total = tf.Variable(tf.zeros_like(x))
        return self.total.assign_add(x)


if __name__ == "__main__":
    counter = Counter()
    for _ in range(5):
        counter(tf.ones([4]))
    print(counter.total.numpy(), keras.backend.backend())
