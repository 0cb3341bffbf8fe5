# /// specimen
# cause = "eager_execution"
# also = []
# where = "LEFT ON"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "function_few_traces"
# needs = []
# ///
"""tf.config.run_functions_eagerly(True) was left on, so the @tf.function around the step does nothing."""

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

tf.config.run_functions_eagerly(True)  # LEFT ON


def make_dataset(seed=15):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(4000, 16)).astype("float32")
    labels = np.argmax(inputs[:, :4], axis=1)
    return tf.data.Dataset.from_tensor_slices((inputs, labels)).shuffle(4000).batch(20).prefetch(2)


def build_model(depth=10):
    layers = [keras.Input((16,))]
    for _ in range(depth):
        layers += [keras.layers.Dense(24), keras.layers.BatchNormalization(), keras.layers.ReLU()]
    return keras.Sequential([*layers, keras.layers.Dense(4)])


model = build_model()
optimizer = keras.optimizers.Adam(1e-3)
loss_function = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(inputs, labels):
    with tf.GradientTape() as tape:
        loss = loss_function(labels, model(inputs, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


mark()
end = time.monotonic() + 25
epoch = 0
while time.monotonic() < end:
    for inputs, labels in make_dataset():
        loss = train_step(inputs, labels)
        if time.monotonic() > end:
            break
    epoch += 1
    print(f"epoch {epoch}: loss {float(loss):.4f}", flush=True)
