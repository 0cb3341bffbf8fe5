# /// specimen
# cause = "thread_pool_exhausted"
# also = []
# where = "WAITS FOR A THREAD HERE"
# framework = "keras-tensorflow"
# ends = "hangs"
# seconds = 35
# near = "inter_op_one_works"
# needs = []
# ///
"""Keras fit with one inter-op thread. From the second epoch on the loss asks a teacher, a tf.function, from inside a
py_function: the py_function holds the only thread, and the teacher waits for one."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark

tf.config.threading.set_inter_op_parallelism_threads(1)
teacher_kernel = tf.Variable(tf.random.normal((10, 1)))


@tf.function
def teacher(features):
    noise = tf.random.normal((64, 64)) @ tf.random.normal((64, 64))
    return features @ teacher_kernel + 0.0 * tf.reduce_mean(noise)


def ask_teacher(labels, predictions):
    mark()
    answer = teacher(tf.zeros((tf.shape(labels)[0], 10)))  # WAITS FOR A THREAD HERE
    return answer


def distillation_loss(labels, predictions):
    target = tf.py_function(ask_teacher, [labels, predictions], tf.float32)
    return tf.reduce_mean((predictions - labels) ** 2) + 0.1 * tf.reduce_mean((predictions - target) ** 2)


rng = np.random.default_rng(0)
features = rng.normal(size=(4096, 10)).astype("float32")
labels = features.sum(axis=1, keepdims=True)
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(features, labels, batch_size=16, epochs=2, verbose=2)
model.compile("adam", distillation_loss)
model.fit(features, labels, batch_size=16, epochs=20, verbose=2)
