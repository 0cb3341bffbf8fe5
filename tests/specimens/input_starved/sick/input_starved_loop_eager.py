# /// specimen
# cause = "input_starved"
# also = ["eager_execution"]
# where = "STARVED HERE"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "loop_just_ends"
# needs = []
# ///
"""An own eager training loop over TFRecords whose compressed tensors are decoded one by one, without prefetch."""

import sys
import tempfile
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

FEATURES = {"png": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}


def write_records(path: str, count: int) -> None:
    with tf.io.TFRecordWriter(path) as writer:
        for number in range(count):
            picture = tf.cast(tf.random.uniform([700, 500, 3], maxval=255), tf.uint8)
            png = tf.io.encode_png(picture, compression=1).numpy()
            features = {
                "png": tf.train.Feature(bytes_list=tf.train.BytesList(value=[png])),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[number % 3])),
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())


def parse(record):
    fields = tf.io.parse_single_example(record, FEATURES)
    picture = tf.io.decode_png(fields["png"], channels=3)
    return tf.image.resize(picture, [48, 48]) / 255.0, fields["label"]


def train(dataset) -> None:
    weights = tf.Variable(tf.random.normal([48 * 48 * 3, 3], stddev=0.01))
    for step, (pictures, labels) in enumerate(dataset):
        with tf.GradientTape() as tape:
            logits = tf.reshape(pictures, [-1, 48 * 48 * 3]) @ weights
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        weights.assign_sub(0.01 * tape.gradient(loss, weights))
        if step % 20 == 0:
            print(f"step {step} loss {float(loss):.4f}", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/train.tfrecord"
        write_records(path, 48)
        dataset = tf.data.TFRecordDataset(path).repeat(400)
        dataset = dataset.map(parse).batch(16)  # STARVED HERE
        mark()
        train(dataset)


if __name__ == "__main__":
    main()
