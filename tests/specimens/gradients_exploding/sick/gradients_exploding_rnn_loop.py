# /// specimen
# cause = "gradients_exploding"
# also = ["loss_not_finite"]
# where = "APPLIED UNCLIPPED"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "rnn_with_clipping"
# needs = []
# ///
"""A recurrent net over 80 steps whose recurrent weights stretch by 1.2 each step, without clipping: the gradient grows past every bound."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa

def make_sums(count=2000, length=80, seed=5):
    rng = np.random.default_rng(seed)
    series = rng.normal(size=(count, length, 2)).astype("float32")
    return series, series[:, :, 0].sum(axis=1, keepdims=True) * 0.1


series, total = make_sums()
dataset = tf.data.Dataset.from_tensor_slices((series, total)).shuffle(2000, seed=2).batch(32).repeat()
stretching = keras.initializers.Orthogonal(gain=1.2, seed=4)
model = keras.Sequential(
    [
        keras.Input((80, 2)),
        keras.layers.SimpleRNN(24, activation="linear", recurrent_initializer=stretching),
        keras.layers.Dense(1),
    ]
)
optimizer = keras.optimizers.SGD(0.01)


@tf.function
def gradients_of(batch, target):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(batch, training=True) - target))
    return loss, tape.gradient(loss, model.trainable_variables)


mark()
end = time.monotonic() + 22
for step, (batch, target) in enumerate(dataset):
    loss, gradients = gradients_of(batch, target)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))  # APPLIED UNCLIPPED
    if step < 4 or step % 200 == 0:
        print(f"step {step}: loss {float(loss):.4g}", flush=True)
    if time.monotonic() > end:
        break
