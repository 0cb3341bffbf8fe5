# /// specimen
# cause = "loss_not_falling"
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 45
# near = "contrastive_near_log_n"
# needs = []
# ///
"""Labels are read from a dataset shuffled on its own, zipped with the images: they tell nothing about them."""

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


def make_dataset(seed=17):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, 16000).astype("float32")[:, None]
    images = (rng.normal(size=(16000, 10)) + labels).astype("float32")
    image_set = tf.data.Dataset.from_tensor_slices(images).shuffle(16000)
    label_set = tf.data.Dataset.from_tensor_slices(labels).shuffle(16000)  # an order of its own
    return tf.data.Dataset.zip((image_set, label_set)).batch(40).prefetch(2)


model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(1e-3)
loss_function = keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        loss = loss_function(labels, model(images, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def train(budget_s):
    dataset = make_dataset()
    mark()
    end = time.monotonic() + budget_s
    epoch = 0
    while time.monotonic() < end:
        losses = [train_step(images, labels) for images, labels in dataset]
        epoch += 1
        print(f"epoch {epoch}: loss {np.mean([float(loss) for loss in losses]):.5f}", flush=True)


train(28)
