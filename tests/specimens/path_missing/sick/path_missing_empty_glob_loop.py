# /// specimen
# cause = "path_missing"
# also = []
# where = "MISSING HERE"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 15
# near = "loop_just_ends"
# needs = []
# ///
"""The pattern matches no file, so the loop has nothing to do: the program saves an untrained model and ends well."""

import glob
import os
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def load(path):
    picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(picture, [32, 32]) / 255.0


def find_pictures() -> list[str]:
    return sorted(glob.glob(os.path.expanduser("~/datasets/ships/train/*.jpg")))  # MISSING HERE


def main() -> None:
    mark()
    paths = tf.constant(find_pictures(), dtype=tf.string)
    dataset = tf.data.Dataset.from_tensor_slices(paths).map(load).batch(16)
    weights = tf.Variable(tf.random.normal([32 * 32 * 3, 1], stddev=0.01))
    steps = 0
    for _ in range(10):
        for pictures in dataset:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.reshape(pictures, [-1, 32 * 32 * 3]) @ weights))
            weights.assign_sub(0.1 * tape.gradient(loss, weights))
            steps += 1
    print(f"finished after {steps} steps")


if __name__ == "__main__":
    main()
