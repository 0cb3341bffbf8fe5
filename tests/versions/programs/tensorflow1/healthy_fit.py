# /// program
# cause = ""
# where = ""
# ends = "exits"
# steps = 99
# loss = true
# epochs = 5
# compare = true
# ///
"""A small fit that is well."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
tf.set_random_seed(0)
features = rng.normal(size=(640, 8)).astype("float32")
labels = features[:, :1] * 2

model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu", input_shape=(8,)), tf.keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")

history = model.fit(features, labels, batch_size=32, epochs=5, verbose=0, shuffle=False)
print("fell:", history.history["loss"][-1] < history.history["loss"][0])
