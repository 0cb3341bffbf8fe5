# /// program
# cause = "lock_deadlock"
# also = ["generator_blocked", "callback_blocked"]
# where = "TAKES IT AGAIN HERE"
# ends = "hangs"
# steps = 19
# ///
"""A callback takes, with its lock held, the same lock again; a plain Lock is not re-entrant."""

import random
import threading

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
random.seed(0)
tf.random.set_seed(0)
features = rng.normal(size=(640, 8)).astype("float32")
labels = features[:, :1] * 2 + features[:, 1:2]
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu", input_shape=(8,)), tf.keras.layers.Dense(1)])

model.compile(optimizer="sgd", loss="mse")


class BestWeights(tf.keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()
        self.best = None

    def restore(self):
        with self.lock:  # TAKES IT AGAIN HERE
            self.model.set_weights(self.best)

    def on_epoch_end(self, epoch, logs=None):
        with self.lock:
            self.best = self.model.get_weights()
            if epoch == 3:
                self.restore()


model.fit(features, labels, batch_size=32, epochs=50, verbose=0, callbacks=[BestWeights()])
