# /// program
# cause = ""
# where = ""
# ends = "exits"
# steps = 99
# loss = true
# compare = true
# ///
"""A fit with the usual callbacks, which ends early by itself."""

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

model.compile(optimizer=tf.keras.optimizers.SGD(0.05), loss="mse")
callbacks = [
    tf.keras.callbacks.ReduceLROnPlateau(monitor="loss", patience=2),
    tf.keras.callbacks.EarlyStopping(monitor="loss", patience=3),
    tf.keras.callbacks.CSVLogger(tempfile.mkdtemp() + "/log.csv"),
    tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: None),
]
model.fit(features, labels, batch_size=32, epochs=8, verbose=0, callbacks=callbacks)
print("done")
