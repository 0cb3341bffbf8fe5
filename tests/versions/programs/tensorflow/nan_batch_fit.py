# /// program
# cause = "labels_invalid"
# also = ["loss_not_finite"]
# where = "GIVEN HERE"
# ends = "exits"
# steps = 59
# loss = true
# epochs = 3
# compare = true
# ///
"""One label is NaN: the loss and every weight are NaN from then on, and fit goes on to its end."""

import random

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
random.seed(0)
tf.random.set_seed(0)
features = rng.normal(size=(640, 8)).astype("float32")
labels = features[:, :1] * 2 + features[:, 1:2]
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu", input_shape=(8,)), tf.keras.layers.Dense(1)])

labels[330] = np.nan
model.compile(optimizer="sgd", loss="mse")
history = model.fit(features, labels, batch_size=32, epochs=3, verbose=0, shuffle=False)  # GIVEN HERE
print(history.history["loss"][-1])
