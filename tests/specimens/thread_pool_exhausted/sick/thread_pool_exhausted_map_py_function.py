# /// specimen
# cause = "thread_pool_exhausted"
# also = []
# where = "WAITS FOR A THREAD HERE"
# framework = "loop-tensorflow"
# ends = "hangs"
# seconds = 35
# near = "inter_op_one_works"
# needs = []
# ///
"""A tf.data map augments with a py_function that calls a tf.function, and that one calls back into Python for the rare
wide images, where again a tf.function runs. With one inter-op thread the innermost never gets a thread."""

import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark

tf.config.threading.set_inter_op_parallelism_threads(1)


@tf.function
def squeeze(image):
    return image[:, ::2] + 0.0 * tf.reduce_mean(tf.random.normal((64, 64)) @ tf.random.normal((64, 64)))


def squeeze_wide(image):
    mark()
    return squeeze(image)  # WAITS FOR A THREAD HERE


@tf.function(reduce_retracing=True)
def augment(image):
    image = tf.image.random_flip_left_right(image[..., None])[..., 0]
    if tf.shape(image)[1] > 16:
        image = tf.py_function(squeeze_wide, [image], tf.float32)
    return image


def load(index):
    wide = int(index) % 1000 == 999
    return augment(tf.random.normal((16, 32 if wide else 16)))


dataset = tf.data.Dataset.range(10**6).map(lambda index: tf.py_function(load, [index], tf.float32), num_parallel_calls=4)
dataset = dataset.map(lambda image: tf.ensure_shape(image, (16, 16))).batch(8).prefetch(2)
kernel = tf.Variable(tf.random.normal((16, 1)))


@tf.function
def train_step(images):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.tensordot(images, kernel, 1) - 1.0) ** 2)
    kernel.assign_sub(0.01 * tape.gradient(loss, kernel))
    return loss


for step, images in enumerate(dataset):
    loss = train_step(images)
    if step % 25 == 0:
        print(f"step {step} loss {float(loss):.4f}", flush=True)
