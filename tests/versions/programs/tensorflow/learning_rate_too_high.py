# /// program
# cause = "learning_rate_too_high"
# also = ["loss_not_finite", "callback_slow"]
# where = ""
# ends = "exits"
# steps = 1199
# loss = true
# ///
"""SGD with a rate of 30 on a small regression: the loss explodes in the first steps."""

import random
import time

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
random.seed(0)
tf.random.set_seed(0)
features = rng.normal(size=(640, 8)).astype("float32")
labels = features[:, :1] * 2 + features[:, 1:2]
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu", input_shape=(8,)), tf.keras.layers.Dense(1)])

model.compile(optimizer=tf.keras.optimizers.SGD(30.0), loss="mse")


class Sleep(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.005)


model.fit(features, labels, batch_size=32, epochs=60, verbose=0, callbacks=[Sleep()])
