# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "thread_pool_exhausted"
# needs = []
# ///
"""Keras fit with one inter-op thread and one intra-op thread, over a generator that itself calls a tf.function, with a
py_function in a parallel map that takes half a second now and then. Tight, but it works."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

tf.config.threading.set_inter_op_parallelism_threads(1)
tf.config.threading.set_intra_op_parallelism_threads(1)


@tf.function
def augment(features):
    noise = tf.random.normal((100, 100)) @ tf.random.normal((100, 100))
    return features + 1e-6 * tf.reduce_mean(noise)


def jitter(features):
    if np.random.random() < 0.02:
        time.sleep(0.5)
    return augment(features)


def rows():
    rng = np.random.default_rng(0)
    while True:
        yield augment(tf.constant(rng.normal(size=(16, 10)).astype("float32"))).numpy()


def with_labels(features):
    features = tf.ensure_shape(tf.py_function(jitter, [features], tf.float32), (16, 10))
    return features, tf.reduce_sum(features, axis=1, keepdims=True)


dataset = tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec((16, 10), tf.float32))
dataset = dataset.map(with_labels, num_parallel_calls=4).prefetch(2)
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
slow = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: time.sleep(0.025))  # a larger model
model.fit(dataset, steps_per_epoch=120, epochs=5, verbose=2, callbacks=[slow])
