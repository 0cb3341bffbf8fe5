# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 45
# near = "eager_execution"
# needs = []
# ///
"""An eager loop whose steps are a few large convolutions: tf.function would save next to nothing."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf


def make_dataset(seed=0):
    rng = np.random.default_rng(seed)
    images = rng.uniform(size=(96, 96, 96, 3)).astype("float32")
    masks = (images.mean(axis=-1, keepdims=True) > 0.5).astype("float32")
    return tf.data.Dataset.from_tensor_slices((images, masks)).shuffle(96).batch(16).prefetch(1)


model = keras.Sequential(
    [
        keras.layers.Conv2D(32, 5, padding="same", activation="relu"),
        keras.layers.Conv2D(32, 5, padding="same", activation="relu"),
        keras.layers.Conv2D(1, 1),
    ]
)
optimizer = keras.optimizers.Adam(1e-3)
loss_function = keras.losses.BinaryCrossentropy(from_logits=True)

end = time.monotonic() + 22
epoch = 0
while time.monotonic() < end:
    for images, masks in make_dataset():
        with tf.GradientTape() as tape:
            loss = loss_function(masks, model(images, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    epoch += 1
    print(f"epoch {epoch}: loss {float(loss):.4f}", flush=True)
