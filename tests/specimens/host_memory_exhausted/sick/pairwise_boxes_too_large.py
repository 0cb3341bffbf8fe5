# /// specimen
# cause = "host_memory_exhausted"
# also = []
# where = "ASKS TOO MUCH HERE"
# framework = "loop-tensorflow"
# ends = "crashes"
# seconds = 35
# near = "memory_error_caught_smaller_batch"
# needs = []
# ///
"""Matches boxes to anchors with one huge pairwise tensor; on the CPU TensorFlow says "OOM when allocating tensor".

It is the host's memory that does not suffice: there is no device in play.
"""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import numpy as np
import tensorflow as tf
from onset import mark

ANCHORS = 1_200_000


def pairwise_intersection(anchors: tf.Tensor, boxes: tf.Tensor) -> tf.Tensor:
    top_left = tf.maximum(anchors[:, None, :2], boxes[None, :, :2])  # ASKS TOO MUCH HERE
    bottom_right = tf.minimum(anchors[:, None, 2:], boxes[None, :, 2:])
    sides = tf.maximum(bottom_right - top_left, 0.0)
    return sides[..., 0] * sides[..., 1]


def random_boxes(count: int, seed: int) -> np.ndarray:
    corners = np.random.default_rng(seed).uniform(0, 1, (count, 2, 2)).astype(np.float32)
    return np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)


def main() -> None:
    anchors = tf.constant(random_boxes(ANCHORS, 0))
    scale = tf.Variable(1.0)
    optimizer = tf.keras.optimizers.SGD(0.05)
    for step in range(60):
        crowded = step == 50  # one picture of a crowd
        boxes = tf.constant(random_boxes(600_000 if crowded else 2, step))
        if crowded:
            mark()
        overlap = pairwise_intersection(anchors, boxes)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(overlap * scale - 0.1))
        optimizer.apply_gradients([(tape.gradient(loss, scale), scale)])
        if step % 10 == 0:
            print(f"step {step} loss {float(loss):.5f}", flush=True)


if __name__ == "__main__":
    main()
