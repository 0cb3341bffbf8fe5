# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 35
# near = "input_starved"
# needs = []
# ///
"""Each epoch is one tf.function over a data set whose batches are cheap: the time goes into the matrices."""

import os
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import tensorflow as tf

hidden = tf.Variable(tf.random.normal([1024, 1024], stddev=0.03))
last = tf.Variable(tf.random.normal([1024, 1], stddev=0.03))


@tf.function
def train_epoch(dataset):
    total, count = 0.0, 0.0
    for features, targets in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.nn.relu(features @ hidden) @ last - targets))
        for variable, gradient in zip([hidden, last], tape.gradient(loss, [hidden, last])):
            variable.assign_sub(0.002 * gradient)
        total += loss
        count += 1.0
    return total / count


inputs = tf.random.normal([8192, 1024])
dataset = tf.data.Dataset.from_tensor_slices((inputs, tf.reduce_mean(inputs[:, :16], axis=1, keepdims=True)))
dataset = dataset.shuffle(1000).batch(256).prefetch(tf.data.AUTOTUNE)
end = time.monotonic() + 25
epoch = 0
while time.monotonic() < end:
    print(f"epoch {epoch} loss {float(train_epoch(dataset)):.4f}", flush=True)
    epoch += 1
