# /// specimen
# cause = "weights_frozen"
# also = []
# where = "APPLIED TO THE COPY"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 35
# near = "ema_weights"
# needs = []
# ///
"""The gradients of the model in training are applied to its copy, which no loss ever sees."""

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


def make_dataset(seed=4):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(4000, 20)).astype("float32")
    labels = (inputs[:, 0] + inputs[:, 1] * inputs[:, 2] > 0).astype("float32")[:, None]
    return tf.data.Dataset.from_tensor_slices((inputs, labels)).shuffle(4000).batch(40)


def build_model():
    model = keras.Sequential(
        [keras.Input((20,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1, activation="sigmoid")]
    )
    return model


model = build_model()
best_model = keras.models.clone_model(model)
best_model.set_weights(model.get_weights())
optimizer = keras.optimizers.Adam(1e-3)
loss_function = keras.losses.BinaryCrossentropy()


@tf.function
def train_step(inputs, labels):
    with tf.GradientTape() as tape:
        loss = loss_function(labels, model(inputs, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, best_model.trainable_variables))  # APPLIED TO THE COPY
    return loss


dataset = make_dataset()
mark()
end = time.monotonic() + 22
epoch = 0
while time.monotonic() < end:
    losses = [train_step(inputs, labels) for inputs, labels in dataset]
    epoch += 1
    print(f"epoch {epoch}: loss {np.mean([float(loss) for loss in losses]):.4f}", flush=True)
