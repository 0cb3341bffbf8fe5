# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "gradients_exploding"
# needs = []
# ///
"""A recurrent net whose raw gradient now and then is a thousand times too long; the own loop clips it."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

def make_sums(count=2000, length=40, seed=5):
    rng = np.random.default_rng(seed)
    series = rng.normal(size=(count, length, 2)).astype("float32")
    return series, series[:, :, 0].sum(axis=1, keepdims=True) * 0.1


series, total = make_sums()
dataset = tf.data.Dataset.from_tensor_slices((series, total)).shuffle(2000, seed=2).batch(32).repeat()
model = keras.Sequential(
    [
        keras.Input((40, 2)),
        keras.layers.SimpleRNN(24, activation="linear", recurrent_initializer=keras.initializers.Orthogonal(gain=1.1, seed=4)),
        keras.layers.Dense(1),
    ]
)
optimizer = keras.optimizers.Adam(1e-3)


@tf.function
def train_step(batch, target):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(batch, training=True) - target))
    gradients, length = tf.clip_by_global_norm(tape.gradient(loss, model.trainable_variables), 1.0)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss, length


end = time.monotonic() + 22
for step, (batch, target) in enumerate(dataset):
    loss, length = train_step(batch, target)
    if step % 200 == 0:
        print(f"step {step}: loss {float(loss):.4g}, raw gradient {float(length):.4g}", flush=True)
    if time.monotonic() > end:
        break
