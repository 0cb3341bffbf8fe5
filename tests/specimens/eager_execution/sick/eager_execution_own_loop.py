# /// specimen
# cause = "eager_execution"
# also = []
# where = "NOT COMPILED"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "eager_loop_with_big_ops"
# needs = []
# ///
"""A recurrent cell is unrolled in Python in a GradientTape loop without tf.function: thousands of tiny ops a step."""

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


def make_dataset(seed=14):
    rng = np.random.default_rng(seed)
    waves = np.cumsum(rng.normal(size=(2000, 40, 4)), axis=1).astype("float32") * 0.1
    return tf.data.Dataset.from_tensor_slices((waves[:, :-1], waves[:, 1:, :1])).shuffle(2000).batch(16).prefetch(2)


cell = keras.layers.GRUCell(24)
readout = keras.layers.Dense(1)
optimizer = keras.optimizers.Adam(1e-3)


def predict_next(waves):
    state = tf.zeros((tf.shape(waves)[0], 24))
    outputs = []
    for moment in range(waves.shape[1]):
        state, _ = cell(waves[:, moment], state)
        outputs.append(readout(state))
    return tf.stack(outputs, axis=1)


def train_step(waves, targets):  # NOT COMPILED
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((predict_next(waves) - targets) ** 2)
    variables = cell.trainable_variables + readout.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


mark()
end = time.monotonic() + 25
epoch = 0
while time.monotonic() < end:
    for step, (waves, targets) in enumerate(make_dataset()):
        loss = train_step(waves, targets)
        if step % 20 == 0:
            print(f"epoch {epoch} step {step}: loss {float(loss):.4f}", flush=True)
        if time.monotonic() > end:
            break
    epoch += 1
