# /// specimen
# cause = "dtype_mismatch"
# also = []
# where = "MULTIPLIED HERE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 60
# near = "dtype_mismatch_cast"
# needs = []
# ///
"""The anchors come from NumPy and are float64; what the model gives is float32."""

import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def decode(offsets, anchors):
    sizes = tf.exp(offsets) * anchors  # MULTIPLIED HERE
    return tf.reduce_sum(sizes)


if __name__ == "__main__":
    anchors = tf.constant(np.linspace(0.1, 0.9, 12).reshape(6, 2))
    offsets = tf.random.normal((4, 6, 2))
    mark()
    print(decode(offsets, anchors))
