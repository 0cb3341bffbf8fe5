# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 60
# near = "record_feature_missing"
# needs = []
# ///
"""Some records lack the feature, for which there is a default; a first attempt without it is caught."""

import os
import tempfile

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import tensorflow as tf


def write(path):
    with tf.io.TFRecordWriter(path) as writer:
        for height in range(64):
            feature = {"height": tf.train.Feature(float_list=tf.train.FloatList(value=[height / 64]))}
            if height % 2:
                feature["objects"] = tf.train.Feature(float_list=tf.train.FloatList(value=[height / 32]))
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def parser(default):
    objects = tf.io.FixedLenFeature([1], tf.float32, default_value=default)

    def parse(record):
        features = tf.io.parse_single_example(record, {"height": tf.io.FixedLenFeature([1], tf.float32), "objects": objects})
        return features["height"], features["objects"]

    return parse


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "train.tfrecord")
        write(path)
        records = tf.data.TFRecordDataset(path)
        try:
            list(records.map(parser(None)))
        except tf.errors.InvalidArgumentError:
            print("some records have no objects")
        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(records.map(parser([0.0])).batch(8), epochs=2, verbose=0)
