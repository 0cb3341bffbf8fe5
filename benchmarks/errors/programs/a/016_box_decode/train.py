import os
import tempfile

import numpy as np
import tensorflow as tf

from boxes import grid_anchors
from model import build_model

IMAGE_SIZE, CELLS = 64, 8


def write_scenes(path, n=64):
    rng = np.random.default_rng(17)
    images = rng.uniform(0, 0.2, (n, IMAGE_SIZE, IMAGE_SIZE, 3)).astype("float32")
    targets = np.zeros((n, CELLS * CELLS, 5), "float32")
    anchors = grid_anchors(CELLS, 0.3)
    for i in range(n):
        x, y = rng.integers(4, 40, 2)
        images[i, y:y + 20, x:x + 20] = 1.0
        center = np.array([x + 10, y + 10]) / IMAGE_SIZE
        best = np.abs(anchors[:, :2] - center).sum(axis=1).argmin()
        targets[i, best] = [*(center - 10 / IMAGE_SIZE), *(center + 10 / IMAGE_SIZE), 1.0]
    np.savez(path, images=images, targets=targets)


def detection_loss(y_true, y_pred):
    mask = y_true[..., 4:]
    box = tf.reduce_sum(mask * tf.abs(y_true[..., :4] - y_pred[..., :4])) / tf.reduce_sum(mask)
    return box + tf.reduce_mean(tf.square(mask - y_pred[..., 4:]))


if __name__ == "__main__":
    npz = os.path.join(tempfile.mkdtemp(prefix="scenes_"), "scenes.npz")
    write_scenes(npz)
    data = np.load(npz)
    model = build_model(IMAGE_SIZE, CELLS)
    model.compile(optimizer="adam", loss=detection_loss)
    model.fit(data["images"], data["targets"], batch_size=16, epochs=2)
