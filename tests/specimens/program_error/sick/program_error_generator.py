# /// specimen
# cause = "program_error"
# also = []
# where = "FAILED HERE"
# framework = "loop-tensorflow"
# ends = "crashes"
# seconds = 60
# near = "program_error_end_of_data"
# needs = []
# ///
"""A generator looks up a class that the label map does not have. TensorFlow passes the error on inside a message of its own."""

import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

LABELS = {"cat": 1, "dog": 2}
NAMES = ["cat", "dog"] * 20 + ["bird"] + ["cat"] * 20


def rows():
    for name in NAMES:
        if name not in LABELS:
            mark()
        yield LABELS[name]  # FAILED HERE


def main() -> None:
    dataset = tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec((), tf.int32)).batch(4)
    total = 0
    for labels in dataset:
        total += int(tf.reduce_sum(labels))
    print(total)


if __name__ == "__main__":
    main()
