# /// specimen
# cause = "function_retracing"
# also = ["host_memory_leaking"]
# where = "MADE IN THE LOOP"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "tuner_many_models"
# needs = []
# ///
"""A tf.function is made inside the loop, so each step starts with a fresh function and traces it."""

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


class Trainer:
    def __init__(self):
        self.model = keras.Sequential([keras.Input((24,)), keras.layers.Dense(48, activation="gelu"), keras.layers.Dense(3)])
        self.optimizer = keras.optimizers.Adam(1e-3)
        self.optimizer.build(self.model.trainable_variables)
        self.loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def train_on(self, inputs, labels):
        @tf.function
        def step(inputs, labels):  # MADE IN THE LOOP
            with tf.GradientTape() as tape:
                loss = self.loss(labels, self.model(inputs, training=True))
            gradients = tape.gradient(loss, self.model.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
            return loss

        return step(inputs, labels)


def make_dataset(seed=6):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(3000, 24)).astype("float32")
    labels = np.argmax(inputs[:, :3], axis=1)
    return tf.data.Dataset.from_tensor_slices((inputs, labels)).shuffle(3000).batch(30).repeat()


trainer = Trainer()
mark()
end = time.monotonic() + 25
for step, (inputs, labels) in enumerate(make_dataset()):
    loss = trainer.train_on(inputs, labels)
    if step % 25 == 0:
        print(f"step {step}: loss {float(loss):.4f}", flush=True)
    if time.monotonic() > end:
        break
