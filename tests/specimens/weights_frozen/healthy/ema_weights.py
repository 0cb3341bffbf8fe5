# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "weights_frozen"
# needs = []
# ///
"""A teacher follows the student by a moving average: its weights are in the loss, but no gradient ever changes them."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf


def make_dataset(seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(6000, 16)).astype("float32")
    labels = (inputs[:, 0] * inputs[:, 1] > 0).astype("float32")[:, None]
    return tf.data.Dataset.from_tensor_slices((inputs, labels)).shuffle(6000).batch(32).prefetch(2)


def build_model():
    return keras.Sequential([keras.Input((16,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])


student, teacher = build_model(), build_model()
teacher.set_weights(student.get_weights())
optimizer = keras.optimizers.AdamW(1e-3)
loss_function = keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def train_step(inputs, labels):
    with tf.GradientTape() as tape:
        logits = student(inputs + tf.random.normal(tf.shape(inputs), stddev=0.1), training=True)
        loss = loss_function(labels, logits) + tf.reduce_mean((logits - teacher(inputs)) ** 2)
    gradients = tape.gradient(loss, student.trainable_variables)
    optimizer.apply_gradients(zip(gradients, student.trainable_variables))
    for slow, fast in zip(teacher.variables, student.variables):
        slow.assign(0.99 * slow + 0.01 * fast)
    return loss


dataset = make_dataset()
end = time.monotonic() + 20
epoch = 0
while time.monotonic() < end:
    for inputs, labels in dataset:
        loss = train_step(inputs, labels)
    epoch += 1
    print(f"epoch {epoch}: loss {float(loss):.4f}", flush=True)
