# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 45
# near = "learning_rate_too_high"
# needs = []
# ///
"""A variational autoencoder whose second loss term is turned up from 0 to 4 over the run: the total loss rises by design."""

import os
import time

os.environ["KERAS_BACKEND"] = "torch"
os.environ["OMP_NUM_THREADS"] = "1"
import keras
import numpy as np
from keras import ops

class Bottleneck(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.strength = keras.Variable(0.0, trainable=False)
        self.noise = keras.random.SeedGenerator(3)

    def call(self, moments):
        mean, log_variance = moments[:, :4], moments[:, 4:]
        divergence = -0.5 * ops.mean(1 + log_variance - ops.square(mean) - ops.exp(log_variance))
        self.add_loss(self.strength * divergence)
        return mean + ops.exp(0.5 * log_variance) * keras.random.normal(ops.shape(mean), seed=self.noise)


class TurnUp(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.model.get_layer(index=2).strength.assign(min(4.0, epoch / 5))


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


rng = np.random.default_rng(44)
spectra = (rng.normal(size=(4000, 4)) @ rng.normal(size=(4, 32))).astype("float32")
inputs = keras.Input((32,))
moments = keras.layers.Dense(8)(inputs)
outputs = keras.layers.Dense(32)(Bottleneck()(moments))
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse")
model.fit(spectra, spectra, batch_size=32, epochs=300, verbose=2, callbacks=[TurnUp(), TimeBudget(20)])
