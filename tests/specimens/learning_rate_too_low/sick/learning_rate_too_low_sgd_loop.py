# /// specimen
# cause = "learning_rate_too_low"
# also = []
# where = "RATE HERE"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 35
# near = "warmup_from_zero"
# needs = []
# ///
"""An eager loop with SGD at 1e-7: the loss at the end is the loss at the start to four digits."""

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

def make_rows(count=3000, seed=12):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 24)).astype("float32")
    return rows, (rows[:, 0] * rows[:, 1] > 0).astype("int32")


rows, target = make_rows()
dataset = tf.data.Dataset.from_tensor_slices((rows, target)).shuffle(3000, seed=5).batch(32).repeat()
model = keras.Sequential([keras.Input((24,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(2)])
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.SGD(1e-7)  # RATE HERE
mark()
end = time.monotonic() + 22
for step, (batch, wanted) in enumerate(dataset):
    with tf.GradientTape() as tape:
        loss = loss_of(wanted, model(batch, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    if step % 200 == 0:
        print(f"step {step}: loss {float(loss):.4f}", flush=True)
    if time.monotonic() > end:
        break
