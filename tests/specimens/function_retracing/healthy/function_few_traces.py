# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "function_retracing"
# needs = []
# ///
"""One tf.function with five rightful traces: training and not, the short last batch of each, and another dtype."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf


def make_dataset(count, batch, seed):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(count, 16)).astype("float32")
    labels = (inputs[:, :1] > inputs[:, 1:2]).astype("float32")
    return tf.data.Dataset.from_tensor_slices((inputs, labels)).shuffle(count).batch(batch)


model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dropout(0.2), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(1e-3)
loss_function = keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def run_step(inputs, labels, training):
    with tf.GradientTape() as tape:
        loss = loss_function(labels, model(inputs, training=training))
    if training:
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


model.build((None, 16))
optimizer.build(model.trainable_variables)
training_set, validation_set = make_dataset(3010, 32, 0), make_dataset(530, 64, 1)
end = time.monotonic() + 20
epoch = 0
while time.monotonic() < end:
    for inputs, labels in training_set:
        run_step(inputs, labels, True)
    losses = [float(run_step(inputs, labels, False)) for inputs, labels in validation_set]
    run_step(tf.zeros((4, 16), tf.float64), tf.zeros((4, 1)), False)
    epoch += 1
    print(f"epoch {epoch}: validation loss {np.mean(losses):.4f}, traces {run_step.experimental_get_tracing_count()}", flush=True)
