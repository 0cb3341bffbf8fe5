# /// specimen
# cause = "batch_constant"
# also = []
# where = "STARTS AGAIN HERE"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "next_iter_of_shuffled_set"
# needs = []
# ///
"""next(iter(dataset)) in the loop starts the dataset from the beginning at each step: always the first batch."""

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
    images = rng.uniform(size=(2000, 12, 12, 1)).astype("float32")
    labels = (images.mean(axis=(1, 2, 3)) * 1000).astype("int64") % 4
    return tf.data.Dataset.from_tensor_slices((images, labels)).batch(16).prefetch(2)


model = keras.Sequential(
    [keras.Input((12, 12, 1)), keras.layers.Conv2D(8, 3, activation="relu"), keras.layers.Flatten(), keras.layers.Dense(4)]
)
optimizer = keras.optimizers.Adam(1e-3)
loss_function = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        loss = loss_function(labels, model(images, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


dataset = make_dataset()
mark()
end = time.monotonic() + 25
step = 0
while time.monotonic() < end:
    images, labels = next(iter(dataset))  # STARTS AGAIN HERE
    loss = train_step(images, labels)
    step += 1
    if step % 100 == 0:
        print(f"step {step}: loss {float(loss):.4f}", flush=True)
