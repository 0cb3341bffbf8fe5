# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 35
# near = "loss_not_finite"
# needs = []
# ///
"""An eager loop; the loss takes a logarithm and a root, each with a small floor below it."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

def make_crops(count=6000, seed=2):
    rng = np.random.default_rng(seed)
    sizes = rng.uniform(0.005, 1.0, size=(count, 2)).astype("float32")
    crops = np.concatenate([sizes, sizes[:, :1] * sizes[:, 1:], rng.normal(size=(count, 5)) * 0.1], axis=1)
    return crops.astype("float32"), sizes


def size_loss(true_size, predicted_size):
    predicted_size = tf.maximum(predicted_size, 1e-6)
    root = tf.square(tf.sqrt(true_size) - tf.sqrt(predicted_size))
    return tf.reduce_mean(root + 0.1 * tf.square(tf.math.log(true_size / predicted_size)))


crops, sizes = make_crops()
dataset = tf.data.Dataset.from_tensor_slices((crops, sizes)).shuffle(6000, seed=3).batch(16).repeat()
model = keras.Sequential(
    [keras.Input((8,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(2, bias_initializer="ones")]
)
optimizer = keras.optimizers.Adam(1e-3)
end = time.monotonic() + 20
for step, (batch, true_size) in enumerate(dataset):
    with tf.GradientTape() as tape:
        loss = size_loss(true_size, model(batch, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    if step % 200 == 0:
        print(f"step {step}: loss {float(loss):.5f}", flush=True)
    if time.monotonic() > end:
        break
