# /// specimen
# cause = "reader_blocked"
# also = []
# where = "WAITS HERE"
# framework = "keras-tensorflow"
# ends = "hangs"
# seconds = 30
# near = "shards_open_slowly_fit"
# needs = []
# ///
"""The third shard of a TFRecord data set is a named pipe into which nobody writes: the reader's thread waits in its opening."""

import os
import sys
import tempfile
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(next(parent for parent in Path(__file__).parents if (parent / "onset.py").exists())))
from onset import mark


def write_shard(path: str, rows: int) -> None:
    rng = np.random.default_rng(rows)
    with tf.io.TFRecordWriter(path) as writer:
        for _ in range(rows):
            writer.write(rng.normal(size=9).astype("float32").tobytes())


def parse(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    row = tf.ensure_shape(tf.io.decode_raw(record, tf.float32), [9])
    return row[:8], row[8:]


with tempfile.TemporaryDirectory() as folder:
    shards = [f"{folder}/train-{number}.tfrecord" for number in range(3)]
    write_shard(shards[0], 320)
    write_shard(shards[1], 320)
    os.mkfifo(shards[2])
    dataset = tf.data.TFRecordDataset(shards).map(parse).batch(8, drop_remainder=True).prefetch(2)
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    steps = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: mark() if batch == 70 else None)
    model.fit(dataset, epochs=2, verbose=2, callbacks=[steps])  # WAITS HERE
