import numpy as np
import tensorflow as tf


def grid_anchors(cells, size):
    c = (np.arange(cells, dtype=np.float32) + 0.5) / cells
    cx, cy = np.meshgrid(c, c)
    wh = np.full_like(cx, size)
    return np.stack([cx, cy, wh, wh], axis=-1).reshape(-1, 4)


def decode_boxes(deltas, anchors):
    """(dx, dy, dw, dh) relative to the anchors -> corner boxes."""
    centers = deltas[..., :2] * anchors[:, 2:] + anchors[:, :2]
    sizes = tf.exp(deltas[..., 2:]) * anchors[:, 2:]
    return tf.concat([centers - sizes / 2, centers + sizes / 2], axis=-1)
