# /// program
# cause = ""
# where = ""
# ends = "exits"
# steps = 99
# loss = true
# epochs = 5
# compare = true
# ///
"""A small fit that is well, with a checkpoint at the end of each epoch."""

import random
import tempfile

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
random.seed(0)
tf.random.set_seed(0)
features = rng.normal(size=(640, 8)).astype("float32")
labels = features[:, :1] * 2 + features[:, 1:2]
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu", input_shape=(8,)), tf.keras.layers.Dense(1)])

model.compile(optimizer="adam", loss="mse")
path = tempfile.mkdtemp() + "/best.weights.h5"
saver = tf.keras.callbacks.ModelCheckpoint(path, save_weights_only=True)
history = model.fit(features, labels, batch_size=32, epochs=5, verbose=0, shuffle=False, callbacks=[saver])
print(history.history["loss"])
