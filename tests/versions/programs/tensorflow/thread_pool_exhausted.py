# /// program
# cause = "thread_pool_exhausted"
# also = ["generator_blocked"]
# where = "WAITS FOR A THREAD HERE"
# ends = "hangs"
# steps = 0
# ///
"""Python functions of a pipeline call a tf.function: with two threads in TensorFlow's pool, two such calls leave none for it."""

import time

import numpy as np
import tensorflow as tf

tf.config.threading.set_inter_op_parallelism_threads(2)
kernel = tf.Variable(np.eye(8, dtype="float32"))


@tf.function
def embed(values):
    return tf.linalg.matvec(kernel, values) + 1e-6 * tf.reduce_sum(tf.random.normal((50, 50)) @ tf.random.normal((50, 50)))


def enrich(values):
    time.sleep(0.05)
    return embed(values)  # WAITS FOR A THREAD HERE


def load(number):
    values = tf.fill((8,), tf.cast(number, tf.float32))
    return tf.ensure_shape(tf.py_function(enrich, [values], tf.float32), (8,)), tf.ones((1,))


model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(8,))])
model.compile(optimizer="sgd", loss="mse")
dataset = tf.data.Dataset.range(100000).map(load, num_parallel_calls=8).batch(32)
model.fit(dataset, epochs=2, verbose=0)
