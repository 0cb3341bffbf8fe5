# /// program
# cause = "thread_pool_exhausted"
# also = ["generator_blocked"]
# where = "WAITS FOR A THREAD HERE"
# ends = "hangs"
# ///
"""A Python function of the pipeline runs a tf.function, which calls Python again, which runs another: with one thread in TensorFlow's
pool the innermost never gets one."""

import tensorflow as tf

tf.config.threading.set_inter_op_parallelism_threads(1)


@tf.function
def squeeze(values):
    return values + 0.0 * tf.reduce_mean(tf.random.normal((64, 64)) @ tf.random.normal((64, 64)))


def squeeze_large(values):
    return squeeze(values)  # WAITS FOR A THREAD HERE


@tf.function
def augment(values, number):
    if number % 1000 == 999:
        values = tf.py_function(squeeze_large, [values], tf.float32)
    return tf.image.random_flip_left_right(tf.reshape(values, (1, 8, 1)))


def load(number):
    return augment(tf.ones((8,)), number)  # WAITS FOR A THREAD HERE


def example(number):
    values = tf.py_function(load, [number], tf.float32)
    return tf.reshape(values, (8,)), tf.ones((1,))


model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(8,))])
model.compile(optimizer="sgd", loss="mse")
dataset = tf.data.Dataset.range(10**6).map(example, num_parallel_calls=4).batch(8).prefetch(2)
model.fit(dataset, verbose=0)
