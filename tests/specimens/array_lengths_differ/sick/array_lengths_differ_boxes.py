# /// specimen
# cause = "array_lengths_differ"
# also = []
# where = "SLICED HERE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 60
# near = "array_lengths_differ_cut"
# needs = []
# ///
"""The boxes are listed once for each object and the images once for each image: some images have two objects."""

import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def read(count):
    images, boxes = [], []
    for number in range(count):
        images.append(f"{number}.jpg")
        for _ in range(1 + number % 3 // 2):
            boxes.append([0.1, 0.1, 0.5, 0.5])
    return images, boxes


if __name__ == "__main__":
    images, boxes = read(30)
    mark()
    dataset = tf.data.Dataset.from_tensor_slices((images, boxes))  # SLICED HERE
    print(next(iter(dataset)))
