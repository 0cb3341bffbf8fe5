# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "reader_blocked"
# needs = []
# ///
"""Each shard of a TFRecord data set takes three seconds until it can be opened: it is fetched from a server first."""

import os
import tempfile
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf


def write_shard(path: str, rows: int) -> None:
    rng = np.random.default_rng(rows)
    with tf.io.TFRecordWriter(path) as writer:
        for _ in range(rows):
            writer.write(rng.normal(size=9).astype("float32").tobytes())


def fetch(path: bytes) -> bytes:
    time.sleep(3)
    return path


def parse(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    row = tf.ensure_shape(tf.io.decode_raw(record, tf.float32), [9])
    return row[:8], row[8:]


with tempfile.TemporaryDirectory() as folder:
    shards = [f"{folder}/train-{number}.tfrecord" for number in range(3)]
    for shard in shards:
        write_shard(shard, 800)
    fetched = tf.data.Dataset.from_tensor_slices(shards).map(lambda path: tf.numpy_function(fetch, [path], tf.string))
    dataset = fetched.flat_map(tf.data.TFRecordDataset).map(parse).batch(8, drop_remainder=True).prefetch(2)
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    slow = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: time.sleep(0.02))  # a larger model
    model.fit(dataset, verbose=2, callbacks=[slow])
