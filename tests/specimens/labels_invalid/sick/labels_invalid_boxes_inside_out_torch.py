# /// specimen
# cause = "labels_invalid"
# also = ["loss_not_finite"]
# where = "FIT WITH BAD LABELS"
# framework = "keras-torch"
# ends = "exits"
# seconds = 45
# near = "loop_log_with_floor"
# needs = []
# ///
"""A few boxes have xmin and xmax swapped: the loss takes the root of a negative width, and everything is NaN from that batch on."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
os.environ["OMP_NUM_THREADS"] = "1"
import keras
import numpy as np
from keras import ops

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa

def box_loss(true_boxes, predicted):
    width = true_boxes[:, 2] - true_boxes[:, 0]
    height = true_boxes[:, 3] - true_boxes[:, 1]
    corner = ops.mean(ops.square(true_boxes[:, :2] - predicted[:, :2]))
    size = ops.mean(ops.square(ops.sqrt(width) - predicted[:, 2]) + ops.square(ops.sqrt(height) - predicted[:, 3]))
    return corner + size


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_train_batch_end(self, batch, logs=None):
        if not np.isfinite(float(logs["loss"])):
            mark()

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_annotations(count=12000, seed=25):
    rng = np.random.default_rng(seed)
    corner = rng.uniform(0, 0.5, size=(count, 2))
    size = rng.uniform(0.1, 0.5, size=(count, 2))
    boxes = np.concatenate([corner, corner + size], axis=1).astype("float32")
    crops = np.concatenate([boxes, boxes**2, rng.normal(size=(count, 8))], axis=1).astype("float32")
    for row in (6111, 7222, 9333):  # drawn from right to left
        boxes[row, [0, 2]] = boxes[row, [2, 0]]
    return crops, boxes


crops, boxes = load_annotations()
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(48, activation="relu"), keras.layers.Dense(4)])
model.compile(optimizer="adam", loss=box_loss)
model.fit(crops, boxes, batch_size=24, epochs=100, shuffle=False, verbose=2, callbacks=[TimeBudget(20)])  # FIT WITH BAD LABELS
