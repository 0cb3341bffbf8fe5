# /// specimen
# cause = "function_retracing"
# also = []
# where = "TRACED AGAIN"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "function_few_traces"
# needs = []
# ///
"""The step number goes into a tf.function as a Python int, so each step traces the function anew."""

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


def make_dataset(seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(3200, 32)).astype("float32")
    targets = inputs[:, :1] * 2 - inputs[:, 1:2]
    return tf.data.Dataset.from_tensor_slices((inputs, targets)).shuffle(3200).batch(32).repeat()


model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD(1e-2)


@tf.function
def train_step(inputs, targets, step):  # TRACED AGAIN
    with tf.GradientTape() as tape:
        error = tf.reduce_mean((model(inputs, training=True) - targets) ** 2)
        weight = tf.minimum(1.0, (step + 1) / 100)
        loss = weight * error
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return error


model.build((None, 32))
optimizer.build(model.trainable_variables)
mark()
end = time.monotonic() + 25
for step, (inputs, targets) in enumerate(make_dataset()):
    error = train_step(inputs, targets, step)
    if step % 20 == 0:
        print(f"step {step}: error {float(error):.4f}", flush=True)
    if time.monotonic() > end:
        break
