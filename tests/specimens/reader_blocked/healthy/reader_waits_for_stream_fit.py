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
"""Training data comes through a named pipe from a thread that needs three seconds for a shard now and then."""

import os
import tempfile
import threading
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf


def produce(path: str) -> None:
    rng = np.random.default_rng(0)
    with open(path, "wb", buffering=0) as stream:
        for number in range(2400):
            if number % 800 == 799:
                time.sleep(3)  # the next shard is fetched
            stream.write(rng.normal(size=9).astype("float32").tobytes())


def parse(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    row = tf.ensure_shape(tf.io.decode_raw(record, tf.float32), [9])
    return row[:8], row[8:]


with tempfile.TemporaryDirectory() as folder:
    stream = f"{folder}/train.stream"
    os.mkfifo(stream)
    threading.Thread(target=produce, args=(stream,), daemon=True).start()
    dataset = tf.data.FixedLengthRecordDataset(stream, 36).map(parse).batch(8, drop_remainder=True).prefetch(2)
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    slow = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: time.sleep(0.02))  # a larger model
    model.fit(dataset, verbose=2, callbacks=[slow])
