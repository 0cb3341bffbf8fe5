# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 60
# near = "program_error"
# needs = []
# ///
"""A loop that ends by OutOfRangeError and one by StopIteration, as code of TensorFlow 1 and of plain iterators does."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf


def graph_of_version_1() -> int:
    with tf.Graph().as_default():
        following = tf.compat.v1.data.make_one_shot_iterator(tf.data.Dataset.range(10).batch(3)).get_next()
        batches = 0
        with tf.compat.v1.Session() as session:
            while True:
                try:
                    session.run(following)
                except tf.errors.OutOfRangeError:
                    return batches
                batches += 1


def plain_iterator() -> int:
    iterator = iter(tf.data.Dataset.range(10).batch(3))
    batches = 0
    while True:
        try:
            next(iterator)
        except StopIteration:
            return batches
        batches += 1


assert graph_of_version_1() == plain_iterator() == 4
