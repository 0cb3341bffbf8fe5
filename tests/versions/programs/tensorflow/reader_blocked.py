# /// program
# cause = "reader_blocked"
# where = "WAITS HERE"
# ends = "hangs"
# steps = 0
# loss = true
# ///
"""The second file of a TFRecordDataset is a pipe that nobody writes to: a native thread of tf.data waits in openat."""

import os
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
folder = tempfile.mkdtemp()
with tf.io.TFRecordWriter(folder + "/first.tfrecord") as writer:
    for row in range(320):
        writer.write(np.concatenate([features[row], labels[row]]).tobytes())
os.mkfifo(folder + "/second.tfrecord")


def parse(record):
    values = tf.reshape(tf.io.decode_raw(record, tf.float32), (9,))
    return values[:8], values[8:]


files = [folder + "/first.tfrecord", folder + "/second.tfrecord"]
dataset = tf.data.TFRecordDataset(files).map(parse).batch(32).prefetch(2)
model.fit(dataset, epochs=2, verbose=0)  # WAITS HERE
