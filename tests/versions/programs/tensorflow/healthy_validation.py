# /// program
# cause = ""
# where = ""
# ends = "exits"
# steps = 99
# loss = true
# epochs = 5
# compare = true
# ///
"""A fit on a tf.data pipeline with a validation set after each epoch."""

import random

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
random.seed(0)
tf.random.set_seed(0)
features = rng.normal(size=(640, 8)).astype("float32")
labels = features[:, :1] * 2 + features[:, 1:2]
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu", input_shape=(8,)), tf.keras.layers.Dense(1)])

model.compile(optimizer="sgd", loss="mse", metrics=["mae"])
train = tf.data.Dataset.from_tensor_slices((features, labels)).shuffle(640, seed=1).batch(32).prefetch(2)
validation = tf.data.Dataset.from_tensor_slices((features[:160], labels[:160])).batch(32)
history = model.fit(train, validation_data=validation, epochs=5, verbose=0)
print(sorted(history.history))
