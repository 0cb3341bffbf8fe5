# /// specimen
# cause = "element_signature_mismatch"
# also = []
# where = "MAPPED HERE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 60
# near = "element_signature_mismatch_unpacked"
# needs = []
# ///
"""The first map gives an image and a dict; the function of the second takes an image, boxes and classes."""

import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def load(number):
    return tf.zeros((8, 8, 3)), {"boxes": tf.zeros((2, 4)), "classes": tf.zeros((2,))}


def flip(image, boxes, classes):
    return tf.image.flip_left_right(image), boxes, classes


if __name__ == "__main__":
    dataset = tf.data.Dataset.range(8).map(load)
    mark()
    dataset = dataset.map(flip)  # MAPPED HERE
    print(len(list(dataset)))
