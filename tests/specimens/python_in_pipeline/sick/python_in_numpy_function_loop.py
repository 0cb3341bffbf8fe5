# /// specimen
# cause = "python_in_pipeline"
# also = ["input_starved"]
# where = "PYTHON HERE"
# framework = "loop-tensorflow"
# ends = "exits"
# seconds = 40
# near = "py_function_cheap"
# needs = []
# ///
"""An own loop whose pipeline calls tf.numpy_function; the function walks over boxes with Python loops."""

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

ANCHORS = [(x * 8.0, y * 8.0, x * 8.0 + size, y * 8.0 + size) for x in range(8) for y in range(8) for size in (16, 32)]


def overlap(a, b) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])  # PYTHON HERE
    height = min(a[3], b[3]) - max(a[1], b[1])  # PYTHON HERE
    if width <= 0 or height <= 0:  # PYTHON HERE
        return 0.0
    shared = width * height
    return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared)


def match_anchors(boxes: np.ndarray) -> np.ndarray:
    best = np.zeros(len(ANCHORS), dtype=np.float32)
    for number, anchor in enumerate(ANCHORS):
        best[number] = max(overlap(anchor, box) for box in boxes.tolist())  # PYTHON HERE
    return best


def add_targets(boxes):
    targets = tf.numpy_function(match_anchors, [boxes], tf.float32)
    return tf.reshape(boxes, [-1]), tf.ensure_shape(targets, [len(ANCHORS)])


@tf.function
def train_step(weights, boxes, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(boxes / 64 @ weights - targets))
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss


def main() -> None:
    corners = np.random.default_rng(0).uniform(0, 40, size=(256, 20, 2))
    boxes = np.concatenate([corners, corners + 12], axis=-1).astype(np.float32)
    dataset = tf.data.Dataset.from_tensor_slices(boxes).repeat()
    dataset = dataset.map(add_targets, num_parallel_calls=tf.data.AUTOTUNE).batch(64).prefetch(tf.data.AUTOTUNE)
    weights = tf.Variable(tf.zeros([80, len(ANCHORS)]))
    mark()
    for step, (inputs, targets) in enumerate(dataset.take(200)):
        loss = train_step(weights, inputs, targets)
        if step % 50 == 0:
            print(f"step {step} loss {float(loss):.5f}", flush=True)


if __name__ == "__main__":
    main()
