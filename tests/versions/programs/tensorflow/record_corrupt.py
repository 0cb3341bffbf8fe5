# /// program
# cause = "record_corrupt"
# where = "MET HERE"
# ends = "crashes"
# steps = 9
# compare = true
# ///
"""A TFRecord file has a byte that was changed."""

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

model.compile(optimizer="sgd", loss="mse")
path = tempfile.mkdtemp() + "/train.tfrecord"
with tf.io.TFRecordWriter(path) as writer:
    for row in range(640):
        writer.write(np.concatenate([features[row], labels[row]]).tobytes())
with open(path, "r+b") as file:
    file.seek(400 * 52 + 20)
    file.write(b"????")


def parse(record):
    values = tf.reshape(tf.io.decode_raw(record, tf.float32), (9,))
    return values[:8], values[8:]


dataset = tf.data.TFRecordDataset(path).map(parse).batch(32)
model.fit(dataset, epochs=2, verbose=0)  # MET HERE
