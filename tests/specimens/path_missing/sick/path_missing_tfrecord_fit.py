# /// specimen
# cause = "path_missing"
# also = []
# where = "MISSING HERE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 15
# near = "optional_config_missing"
# needs = []
# ///
"""A TFRecord file name with a typing error; TensorFlow notices only when fit() asks for the first batch."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

FEATURES = {"row": tf.io.FixedLenFeature([8], tf.float32), "label": tf.io.FixedLenFeature([1], tf.float32)}


def parse(record):
    fields = tf.io.parse_single_example(record, FEATURES)
    return fields["row"], fields["label"]


def main() -> None:
    shards = [f"/var/tmp/ships-v2/trian-{number:05d}-of-00004.tfrecord" for number in range(4)]
    records = tf.data.TFRecordDataset(shards)  # MISSING HERE
    dataset = records.map(parse).shuffle(100).batch(8).prefetch(1)
    model = keras.Sequential([keras.layers.Dense(4, "relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    mark()
    model.fit(dataset, epochs=3)  # MISSING HERE


if __name__ == "__main__":
    main()
