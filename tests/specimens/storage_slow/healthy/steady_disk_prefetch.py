# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "storage_slow"
# needs = ["root", "cgroup-io"]
# ///
"""The disk gives only 4 MB a second, but that is enough: prefetching hides the reading behind a heavier model."""

import os
import sys
import tempfile
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from slow_disk import forget_cached, limit_reading  # noqa: E402

WIDTH = 4_096


def write_records(path: str, count: int) -> None:
    random = np.random.default_rng(0)
    with tf.io.TFRecordWriter(path) as writer:
        for _ in range(count):
            writer.write(random.normal(size=WIDTH).astype("float32").tobytes())


def parse(record):
    signal = tf.ensure_shape(tf.io.decode_raw(record, tf.float32), [WIDTH]) / 64
    return signal, tf.reduce_mean(signal[:100], keepdims=True)


def main() -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        path = folder + "/train.tfrecord"
        write_records(path, 2_048)
        forget_cached(Path(path))
        limit_reading(Path(folder), 4_000_000)
        records = tf.data.TFRecordDataset(path)
        dataset = records.map(parse, num_parallel_calls=tf.data.AUTOTUNE).batch(8).prefetch(tf.data.AUTOTUNE)
        model = keras.Sequential([keras.layers.Dense(3_000, "relu"), keras.layers.Dense(2_000, "relu"), keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(0.0001), "mse")
        model.fit(dataset, epochs=1, verbose=2)


if __name__ == "__main__":
    main()
