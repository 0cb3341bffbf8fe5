# /// specimen
# cause = "record_feature_missing"
# also = []
# where = "DESCRIBED HERE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 60
# near = "record_feature_missing_default"
# needs = []
# ///
"""The records were written without the number of objects, which the program asks for."""

import os
import sys
import tempfile
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

FEATURES = {
    "image/height": tf.io.FixedLenFeature([], tf.int64),
    "image/objects": tf.io.FixedLenFeature([], tf.int64),  # DESCRIBED HERE
}


def write(path):
    with tf.io.TFRecordWriter(path) as writer:
        for height in range(8):
            feature = {"image/height": tf.train.Feature(int64_list=tf.train.Int64List(value=[height]))}
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def parse(record):
    features = tf.io.parse_single_example(record, FEATURES)
    return features["image/height"]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "train.tfrecord")
        write(path)
        mark()
        for batch in tf.data.TFRecordDataset(path).map(parse).batch(4):
            print(batch)
