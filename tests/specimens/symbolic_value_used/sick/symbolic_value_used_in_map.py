# /// specimen
# cause = "symbolic_value_used"
# also = []
# where = "ASKED HERE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 60
# near = "symbolic_value_used_in_layer"
# needs = []
# ///
"""The function of a map calls .numpy() of its tensor, which has no value while the function is traced."""

import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def load(path):
    name = path.numpy().decode()  # ASKED HERE
    return tf.io.read_file(name + ".jpg")


if __name__ == "__main__":
    mark()
    dataset = tf.data.Dataset.from_tensor_slices(["a", "b"]).map(load)
    print(len(list(dataset)))
