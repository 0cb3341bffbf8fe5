# /// specimen
# cause = "gradients_disconnected"
# also = []
# where = "AFTER THE TAPE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 15
# near = "custom_train_step"
# needs = []
# ///
"""A train_step of one's own computes the loss after the tape has closed, so no weight has a gradient."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa


class Denoiser(keras.Model):
    def __init__(self):
        super().__init__()
        self.squeeze = keras.layers.Dense(16, activation="relu")
        self.expand = keras.layers.Dense(64)
        self.loss_mean = keras.metrics.Mean(name="loss")

    def call(self, inputs):
        return self.expand(self.squeeze(inputs))

    def train_step(self, data):
        noisy, clean = data
        with tf.GradientTape() as tape:
            restored = self(noisy, training=True)
        loss = self.compute_loss(y=clean, y_pred=restored)  # AFTER THE TAPE
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        self.loss_mean.update_state(loss)
        return {"loss": self.loss_mean.result()}


def make_signals(count=4000, seed=1):
    rng = np.random.default_rng(seed)
    clean = np.sin(np.linspace(0, 6, 64) * rng.uniform(0.5, 2, (count, 1))).astype("float32")
    return clean + rng.normal(scale=0.2, size=clean.shape).astype("float32"), clean


noisy, clean = make_signals()
model = Denoiser()
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
mark()
model.fit(noisy, clean, batch_size=64, epochs=20)
