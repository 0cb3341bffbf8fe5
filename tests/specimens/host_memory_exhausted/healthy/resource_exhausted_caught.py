# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 45
# near = "host_memory_exhausted"
# needs = []
# ///
"""Tries all boxes at once; TensorFlow says out of memory, the program catches that and goes on in small pieces."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import time

import numpy as np
import tensorflow as tf


def intersection(anchors: tf.Tensor, boxes: tf.Tensor) -> tf.Tensor:
    top_left = tf.maximum(anchors[:, None, :2], boxes[None, :, :2])
    bottom_right = tf.minimum(anchors[:, None, 2:], boxes[None, :, 2:])
    sides = tf.maximum(bottom_right - top_left, 0.0)
    return sides[..., 0] * sides[..., 1]


def best_overlap(anchors: tf.Tensor, boxes: tf.Tensor, piece: int) -> tuple[tf.Tensor, int]:
    while True:
        try:
            pieces = [intersection(anchors, boxes[start : start + piece]) for start in range(0, 16 * piece, piece)]
            return tf.reduce_max(tf.concat(pieces, axis=1), axis=1), piece
        except tf.errors.ResourceExhaustedError:
            piece //= 1_000_000
            print(f"not enough memory, trying pieces of {piece} boxes", flush=True)


def random_boxes(count: int, seed: int) -> np.ndarray:
    corners = np.random.default_rng(seed).uniform(0, 1, (count, 2, 2)).astype(np.float32)
    return np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)


def main() -> None:
    anchors = tf.constant(random_boxes(400_000, 0))
    scale = tf.Variable(1.0)
    optimizer = tf.keras.optimizers.Adam(0.02)
    boxes, piece = tf.constant(random_boxes(1_000_000, 1)), 1_000_000
    for step in range(40):
        overlap, piece = best_overlap(anchors, boxes, piece)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(overlap * scale - 0.1))
        optimizer.apply_gradients([(tape.gradient(loss, scale), scale)])
        time.sleep(0.1)
        if step % 10 == 0:
            print(f"step {step} loss {float(loss):.5f}", flush=True)


if __name__ == "__main__":
    main()
