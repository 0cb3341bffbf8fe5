# /// specimen
# cause = "storage_slow"
# also = ["input_starved"]
# where = "SLOW HERE"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "steady_disk_prefetch"
# needs = ["root", "cgroup-io"]
# ///
"""The pipeline is parallel and prefetched, but the disk under the TFRecords gives 3 MB a second."""

import os
import sys
import tempfile
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402
from slow_disk import forget_cached, limit_reading  # noqa: E402

WIDTH = 16384


def write_records(path: str, count: int) -> None:
    random = np.random.default_rng(0)
    with tf.io.TFRecordWriter(path) as writer:
        for _ in range(count):
            writer.write(random.normal(size=WIDTH).astype("float32").tobytes())


def parse(record):
    signal = tf.ensure_shape(tf.io.decode_raw(record, tf.float32), [WIDTH])
    return signal / 100, tf.reduce_mean(signal[:100], keepdims=True)


def make_dataset(paths: list[str]):
    records = tf.data.TFRecordDataset(paths)  # SLOW HERE
    return records.map(parse, num_parallel_calls=tf.data.AUTOTUNE).batch(16).prefetch(tf.data.AUTOTUNE)


def main() -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        paths = [f"{folder}/train-{number}.tfrecord" for number in range(3)]
        for path in paths:
            write_records(path, 512)
            forget_cached(Path(path))
        model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
        model.compile("adam", "mse")
        model.fit(np.zeros((16, WIDTH), "float32"), np.zeros((16, 1), "float32"), verbose=0)
        limit_reading(Path(folder), 3_000_000)
        mark()
        model.fit(make_dataset(paths), epochs=1)


if __name__ == "__main__":
    main()
